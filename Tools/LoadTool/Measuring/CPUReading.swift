import Glibc
import LocalStack

/// CPU and memory that every process has used so far, at one moment.
struct CPUReading: Sendable {
    private var usage: [String: ProcessUsage] = [:]
    /// In the order in which the cluster starts them.
    let names: [String]
    /// CPU of this tool.
    private let own: Duration
    private let machine: MachineTime
    private let time: ContinuousClock.Instant

    static let balancer = StackProcess.balancer.description

    init(_ stack: LocalStack) async {
        let usage = await stack.usage()
        self.names = usage.map(\.process.description)
        for process in usage { self.usage[process.process.description] = process }
        self.time = .now
        self.machine = MachineTime()
        var own = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &own)
        self.own =
            .seconds(own.ru_utime.tv_sec + own.ru_stime.tv_sec)
            + .microseconds(own.ru_utime.tv_usec + own.ru_stime.tv_usec)
    }

    /// All but the balancer, which the figures of the contract leave out.
    var servers: [String] { self.names.filter { $0 != Self.balancer } }

    /// In bytes.
    func memory(of name: String) -> (proportional: Double, resident: Double) {
        guard let usage = self.usage[name] else { return (0, 0) }
        return (Double(usage.proportionalBytes), Double(usage.residentBytes))
    }

    /// The common name of all instances of a service.
    static func kind(of name: String) -> String {
        guard let dash = name.firstIndex(of: "-") else { return name }
        let service = name[..<dash]
        return service == "gateway" || service == "router" ? service + "s" : String(service)
    }

    /// Bytes (PSS) of all servers.
    var memory: Double { self.servers.reduce(0) { $0 + self.memory(of: $1).proportional } }

    func since(_ before: CPUReading) -> CPUSpent {
        let processes = self.names.map { name in
            let (now, then) = (self.usage[name], before.usage[name])
            // A process that was killed meanwhile and started again counts from its new start; its use before the kill
            // is lost.
            let isSame = now?.pids.first == then?.pids.first
            let spent = (now?.cpu ?? .zero) - (isSame ? then?.cpu ?? .zero : .zero)
            return (name: name, microseconds: spent.microseconds)
        }
        return CPUSpent(
            processes: processes, own: (self.own - before.own).microseconds,
            machine: self.machine.busy - before.machine.busy, stolen: self.machine.stolen - before.machine.stolen,
            seconds: (self.time - before.time).microseconds / 1_000_000)
    }
}

/// CPU time that every process used between two readings, in microseconds.
struct CPUSpent: Sendable {
    var processes: [(name: String, microseconds: Double)]
    /// Time of this tool; no part of any sum.
    var own: Double
    /// Time of everything on the machine, with the cluster and this tool; and time that other machines took away.
    var machine: Double
    var stolen: Double
    var seconds: Double

    /// Services, Postgres and Redis together.
    var servers: Double {
        self.processes.reduce(0) { $0 + ($1.name == CPUReading.balancer ? 0 : $1.microseconds) }
    }

    func perSecond(of name: String) -> Double {
        (self.processes.first { $0.name == name }?.microseconds ?? 0) / self.seconds
    }

    /// Instances of a service taken together, without the balancer: `gateways`, `postgres`, …
    var byKind: [(name: String, microseconds: Double)] {
        var kinds: [(name: String, microseconds: Double)] = []
        for process in self.processes where process.name != CPUReading.balancer {
            let kind = CPUReading.kind(of: process.name)
            if let place = kinds.firstIndex(where: { $0.name == kind }) {
                kinds[place].microseconds += process.microseconds
            } else {
                kinds.append((kind, process.microseconds))
            }
        }
        return kinds
    }

    /// Time of other programs: figures taken beside a compiler are worth little.
    private var others: Double {
        max(0, self.machine - self.own - self.processes.reduce(0) { $0 + $1.microseconds })
    }

    /// - Parameter what: what there were `count` of, in the singular.
    func per(_ what: String, count: Int, title: String? = nil) -> Table {
        func row(_ name: String, _ microseconds: Double) -> Table.Row {
            Table.Row(name, [microseconds / Double(count), microseconds / self.seconds / 10_000])
        }
        let servers = self.processes.filter { $0.name != CPUReading.balancer }
        let balancers = self.processes.filter { $0.name == CPUReading.balancer }
        return Table(
            "CPU per process" + (title.map { ", \($0)" } ?? ""), columns: ["µs/\(what)", "% of a core"],
            rows: servers.map { row($0.name, $0.microseconds) } + [row("servers together", self.servers)]
                + balancers.map { row("(\($0.name))", $0.microseconds) }
                + [
                    row("(this tool)", self.own), row("(rest of the machine)", self.others),
                    row("(taken by the hypervisor)", self.stolen),
                ])
    }
}

extension Duration {
    fileprivate var microseconds: Double {
        Double(self.components.seconds) * 1_000_000 + Double(self.components.attoseconds) / 1_000_000_000_000
    }
}
