package import LocalStack

/// Something bad that happens to a cluster, and for how long.
package enum Fault: Hashable, Sendable {
    /// Where clients meet the balancer, and services Redis or Postgres.
    package enum Link: String, CaseIterable, Sendable {
        case clients, redis, postgres
    }

    /// SIGKILL, and another start.
    case kill(StackProcess, downFor: Duration)
    /// SIGKILL to several in the same moment.
    case killTogether([StackProcess], downFor: Duration)
    /// SIGTERM, its graceful end, and another start.
    case stop(StackProcess)
    /// SIGSTOP, and on it goes.
    case freeze(StackProcess, for: Duration)
    /// FLUSHALL.
    case flush
    /// Breaks so much of the connections, in percent.
    case cut(Link, percent: Int)
    case delay(Link, by: Duration, for: Duration)
    /// Bytes stay where they are.
    case hold(Link, ways: Set<FaultyProxy.Way>, for: Duration)
    /// Nobody gets through, and who had is thrown out.
    case close(Link, for: Duration)
    /// The wall clock of a process is off by so many seconds, then right again.
    case moveClock(StackProcess, seconds: Int, for: Duration)
    /// SIGKILL, and another start with a wall clock that is off by so many years; later it is right again.
    case startYearsOff(StackProcess, years: Int, for: Duration)
    /// These partitions' streams are filled to their bound while no router reads.
    case fillQueues(partitions: [Int], for: Duration)
    /// SIGKILL to the master of a partition's stream. It is started again when its replica has taken over.
    case killMaster(ofPartition: Int)
    /// SIGSTOP to it, and on it goes as a replica.
    case freezeMaster(ofPartition: Int, for: Duration)
    /// The stream moves to another master.
    case moveStream(ofPartition: Int)
    /// Its master and the other nodes do not hear each other, but the services reach all. For so long after its replica has
    /// taken over; then they hear each other again. An unaware master does not notice, and acknowledges all the time.
    case splitBus(ofPartition: Int, isUnaware: Bool, for: Duration)

    /// For counting.
    package var kind: String {
        switch self {
        case .kill(let process, _): "kill \(process.kind)"
        case .killTogether: "kill several at once"
        case .stop(let process): "restart \(process.kind)"
        case .freeze(let process, _): "freeze \(process.kind)"
        case .flush: "flush redis"
        case .cut(let link, _): "cut \(link.rawValue)"
        case .delay(let link, _, _): "delay \(link.rawValue)"
        case .hold(let link, _, _): "hold \(link.rawValue)"
        case .close(let link, _): "close \(link.rawValue)"
        case .moveClock(let process, _, _): "move clock of \(process.kind)"
        case .startYearsOff(let process, let years, _): "move clock of \(process.kind) by \(years) years"
        case .fillQueues: "fill queues"
        case .killMaster: "kill a master of redis"
        case .freezeMaster: "freeze a master of redis"
        case .moveStream: "move a stream"
        case .splitBus: "split the bus"
        }
    }

    /// The process whose clock it moves.
    var clockOwner: StackProcess? {
        switch self {
        case .moveClock(let process, _, _), .startYearsOff(let process, _, _): process
        default: nil
        }
    }

    /// Targets of the fault. Two faults to the same target do not happen at the same time.
    var victims: Set<String> {
        switch self {
        case .kill(let process, _), .stop(let process), .freeze(let process, _), .moveClock(let process, _, _),
            .startYearsOff(let process, _, _):
            [process.description]
        case .killTogether(let processes, _): Set(processes.map(\.description))
        case .flush, .killMaster, .freezeMaster, .moveStream, .splitBus: ["redis"]
        case .cut(let link, _), .delay(let link, _, _), .hold(let link, _, _), .close(let link, _):
            ["link \(link.rawValue)"]
        case .fillQueues: ["routers", "redis"]
        }
    }
}

extension Fault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .kill(let process, let time): "kill \(process), back after \(time.shown)"
        case .killTogether(let processes, let time):
            "kill \(processes.map(\.description).joined(separator: ", ")) at once, back after \(time.shown)"
        case .stop(let process): "stop \(process) and start it again"
        case .freeze(let process, let time): "freeze \(process) for \(time.shown)"
        case .flush: "flush redis"
        case .cut(let link, let percent): "cut \(percent) % of the connections of \(link.rawValue)"
        case .delay(let link, let by, let time): "delay \(link.rawValue) by \(by.shown) for \(time.shown)"
        case .hold(let link, let ways, let time):
            "hold \(link.rawValue) \(ways.count == 2 ? "both ways" : ways.contains(.there) ? "one way" : "the other way") for \(time.shown)"
        case .close(let link, let time): "close \(link.rawValue) for \(time.shown)"
        case .moveClock(let process, let seconds, let time):
            "move the clock of \(process) by \(seconds) s for \(time.shown)"
        case .startYearsOff(let process, let years, let time):
            "kill \(process), start it with a clock that is \(years) years off for \(time.shown)"
        case .fillQueues(let partitions, let time): "fill the queues of partitions \(partitions) for \(time.shown)"
        case .killMaster(let partition): "kill the master of partition \(partition)'s stream"
        case .freezeMaster(let partition, let time):
            "freeze the master of partition \(partition)'s stream for \(time.shown)"
        case .moveStream(let partition): "move partition \(partition)'s stream to another master"
        case .splitBus(let partition, let isUnaware, let time):
            "cut the \(isUnaware ? "unaware " : "")master of partition \(partition)'s stream off from the other nodes, until \(time.shown) after its replica has taken over"
        }
    }
}

extension Duration {
    /// In seconds.
    package var seconds: Double { Double(self.components.seconds) + Double(self.components.attoseconds) / 1e18 }

    var shown: String { "\((self.seconds * 10).rounded() / 10) s" }
}

extension StackProcess {
    /// Without its number.
    var kind: String {
        if case .service(let service, _) = self { service.rawValue } else { self.description }
    }
}
