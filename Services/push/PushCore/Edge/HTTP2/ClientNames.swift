import Dispatch
import Glibc
package import NIOCore
import NIOPosix
import Synchronization

/// Looks up names that clients have chosen. NIO's own resolver has one queue for each event loop: a zone that never answers would
/// hold up the names of APNs, FCM and Redis behind it. Here each look-up blocks a thread of its own. There are few of them;
/// what is too much is refused at once.
package final class ClientNames: Sendable {
    /// - Returns: where a host stands, in the order to try (RFC 6724); empty if nobody knows. May block.
    package typealias LookUp = @Sendable (_ host: String, _ port: Int) -> [SocketAddress]

    enum Failure: Error {
        /// Too many are looked up already, or this very name.
        case refused
        case unknown
    }

    private struct State {
        /// Names that are being looked up. Nobody can end a look-up, so one may outlive the attempt that wanted it.
        var underWay: Set<String> = []
        /// The names among them that were never found before.
        var newUnderWay: Set<String> = []
        var found: Set<String> = []

        mutating func ended(_ host: String, wasFound: Bool) {
            self.underWay.remove(host)
            self.newUnderWay.remove(host)
            guard wasFound, !self.found.contains(host) else { return }
            if self.found.count >= HTTP2Limits.namesRememberedMax { self.found.removeFirst() }
            self.found.insert(host)
        }
    }

    private let lookUp: LookUp
    private let state = Mutex(State())

    package init(lookUp: @escaping LookUp = { host, port in ClientNames.ask(host, port: port) }) {
        self.lookUp = lookUp
    }

    /// Whether a connection was not made because a name was not looked up.
    static func isRefusal(_ error: any Error) -> Bool {
        (error as? NIOConnectionError)?.dnsAAAAError as? Failure == .refused
    }

    /// For one connection.
    func resolver(on eventLoop: any EventLoop) -> any Resolver & Sendable {
        ClientNameResolver(names: self, eventLoop: eventLoop)
    }

    /// - Parameter found: called once, on any thread.
    fileprivate func find(
        _ host: String, port: Int, _ found: @escaping @Sendable (Result<[SocketAddress], Failure>) -> Void
    ) {
        let mayLook = self.state.withLock { state in
            let isNew = !state.found.contains(host)
            guard state.underWay.count < HTTP2Limits.lookUpsMax,
                !isNew || state.newUnderWay.count < HTTP2Limits.newNamesMax, state.underWay.insert(host).inserted
            else { return false }
            if isNew { state.newUnderWay.insert(host) }
            return true
        }
        guard mayLook else { return found(.failure(.refused)) }
        // A serial queue that blocks has a thread that nobody else waits for.
        DispatchQueue(label: "whisper.push.client-name").async {
            let addresses = self.lookUp(host, port)
            self.state.withLock { $0.ended(host, wasFound: !addresses.isEmpty) }
            found(addresses.isEmpty ? .failure(.unknown) : .success(addresses))
        }
    }

    /// Asks the system, and waits for its answer: as long as the name servers let it wait.
    package static func ask(_ host: String, port: Int) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var rest = list
        while let info = rest {
            rest = info.pointee.ai_next
            guard let place = info.pointee.ai_addr else { continue }
            if info.pointee.ai_family == AF_INET {
                addresses.append(SocketAddress(UnsafeRawPointer(place).load(as: sockaddr_in.self), host: host))
            } else if info.pointee.ai_family == AF_INET6 {
                addresses.append(SocketAddress(UnsafeRawPointer(place).load(as: sockaddr_in6.self), host: host))
            }
        }
        return addresses
    }
}

/// One look-up, in the form that NIO asks for: both kinds of addresses are found by one question, the one for AAAA, which
/// NIO asks first.
private final class ClientNameResolver: Resolver, Sendable {
    private let names: ClientNames
    private let eventLoop: any EventLoop
    private let v4: EventLoopPromise<[SocketAddress]>
    private let v6: EventLoopPromise<[SocketAddress]>

    init(names: ClientNames, eventLoop: any EventLoop) {
        self.names = names
        self.eventLoop = eventLoop
        self.v4 = eventLoop.makePromise(of: [SocketAddress].self)
        self.v6 = eventLoop.makePromise(of: [SocketAddress].self)
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        self.names.find(host, port: port) { result in
            // Both in one turn of the loop: NIO waits a little for the second, and need not.
            self.eventLoop.execute {
                switch result {
                case .success(let addresses):
                    self.v6.succeed(addresses.filter { Self.isV6($0) })
                    self.v4.succeed(addresses.filter { !Self.isV6($0) })
                case .failure(let failure):
                    self.v6.fail(failure)
                    self.v4.fail(failure)
                }
            }
        }
        return self.v6.futureResult
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { self.v4.futureResult }

    /// The system cannot be interrupted.
    func cancelQueries() {}

    private static func isV6(_ address: SocketAddress) -> Bool {
        if case .v6 = address { true } else { false }
    }
}
