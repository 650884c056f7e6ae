import Contract
import DequeModule
package import Logging
package import NIOCore
import NIOPosix
package import NIOSSL
import Telemetry

/// Requests to one origin over one HTTP/2 connection at a time. Connects when it is first needed, and again after the
/// connection has ended; a connection that is going away finishes what it has beside its successor.
///
/// The actor lives on one event loop, its sockets' own.
package actor HTTP2Client {
    package struct Origin: Hashable, Sendable {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        var authority: String { self.port == 443 ? self.host : "\(self.host):\(self.port)" }
    }

    /// A request on its way. `place` is nil while it waits for one.
    private struct Exchange {
        let request: HTTP2Request
        let givesWay: Bool
        let done: CheckedContinuation<Result<HTTP2Response, HTTP2Error>, Never>
        let deadline: Scheduled<Void>
        var resends = 0
        var place: (link: UInt64, stream: Int32)?
    }

    private nonisolated let eventLoop: any EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { self.eventLoop.executor.asUnownedSerialExecutor() }

    private let origin: Origin
    private let tls: NIOSSLContext
    private let allowsPrivateAddresses: Bool
    private let names: ClientNames?
    private let logger: Logger

    private var exchanges: [UInt64: Exchange] = [:]
    /// The number of exchanges that give way.
    private var givingWay = 0
    /// Requests without a stream, oldest first. May name some that have ended meanwhile.
    private var waiting = Deque<UInt64>()
    /// The same of those that give way: they have a stream when nobody else wants it.
    private var waitingBehind = Deque<UInt64>()
    private var lastExchange: UInt64 = 0

    /// The connections that live, the one that takes requests and those that are going away, by number.
    private var links: [UInt64: HTTP2Connection] = [:]
    /// Which request each stream of a connection belongs to.
    private var streams: [UInt64: [Int32: UInt64]] = [:]
    private var lastLink: UInt64 = 0
    /// The connection that is being made or takes requests.
    private var current: UInt64?
    private var failedConnects = 0
    private var pausesUntil: NIODeadline?
    /// Goes on after the pause, for those who wait.
    private var reconnect: Scheduled<Void>?
    private var isClosed = false
    /// Ends a link that is not ready in time, then pings it.
    private var watches: [UInt64: Scheduled<Void>] = [:]

    /// - Parameters:
    ///   - allowsPrivateAddresses: whether the origin is an operator's word, not a client's.
    ///   - names: what looks the host up if a client has chosen it. Nil: NIO does, in the event loop's one queue.
    package init(
        origin: Origin, tls: NIOSSLContext, allowsPrivateAddresses: Bool = true, names: ClientNames? = nil,
        eventLoop: any EventLoop, logger: Logger
    ) {
        self.origin = origin
        self.tls = tls
        self.allowsPrivateAddresses = allowsPrivateAddresses
        self.names = names
        self.eventLoop = eventLoop
        self.logger = logger
    }

    /// Requests without an answer, on streams and waiting for one.
    package var underWay: Int { self.exchanges.count }

    /// Connections made so far.
    package var connectionsMade: Int { Int(self.lastLink) }

    /// Sends a request and waits for its answer, whatever its status.
    /// - Parameter givesWay: it waits behind requests that do not, and there may be fewer of it (`HTTP2Limits.givingWayMax`).
    package func send(
        _ request: HTTP2Request, within timeout: Duration, givesWay: Bool = false
    ) async throws(HTTP2Error) -> HTTP2Response {
        guard self.exchanges.count < HTTP2Limits.waitingMax, !givesWay || self.givingWay < HTTP2Limits.givingWayMax
        else {
            throw .full
        }
        guard !self.isClosed else { throw .unavailable }
        if self.current == nil, let pausesUntil, pausesUntil > .now() { throw .unavailable }
        self.lastExchange += 1
        let id = self.lastExchange
        let result = await withCheckedContinuation { done in
            let deadline = self.eventLoop.scheduleTask(in: TimeAmount(timeout)) {
                self.assumeIsolated { $0.timedOut(id) }
            }
            self.exchanges[id] = Exchange(request: request, givesWay: givesWay, done: done, deadline: deadline)
            if givesWay { self.givingWay += 1 }
            self.wait(id, givesWay: givesWay)
            self.pump()
        }
        return try result.get()
    }

    /// Ends all connections; what is under way fails.
    package func close() {
        self.isClosed = true
        self.reconnect?.cancel()
        self.reconnect = nil
        for link in self.links.values { link.close() }
        self.failWaiting()
    }

    // MARK: Requests

    /// Gives streams to those who wait.
    private func pump() {
        guard let current else { return self.connect() }
        guard let link = self.links[current] else { return }
        while link.hasRoom, let id = self.waiting.first ?? self.waitingBehind.first {
            if let exchange = self.exchanges[id] {
                guard let stream = link.send(exchange.request) else { return }
                self.exchanges[id]?.place = (current, stream)
                self.streams[current, default: [:]][stream] = id
            }
            if self.waiting.popFirst() == nil { self.waitingBehind.removeFirst() }
        }
    }

    private func wait(_ id: UInt64, givesWay: Bool) {
        if givesWay { self.waitingBehind.append(id) } else { self.waiting.append(id) }
    }

    private func finish(_ id: UInt64, _ result: Result<HTTP2Response, HTTP2Error>) {
        guard let exchange = self.exchanges.removeValue(forKey: id) else { return }
        if exchange.givesWay { self.givingWay -= 1 }
        exchange.deadline.cancel()
        exchange.done.resume(returning: result)
    }

    private func timedOut(_ id: UInt64) {
        guard let exchange = self.exchanges[id] else { return }
        if let place = exchange.place {
            self.streams[place.link]?[place.stream] = nil
            self.links[place.link]?.cancel(place.stream)
            self.closeIfDone(place.link)
        }
        self.finish(id, .failure(self.isCrowdedOut(exchange) ? .full : .timedOut))
        self.pump()
    }

    /// Whether others had all streams of a peer that answers. One that lets all wait, or goes away from them, has failed.
    private func isCrowdedOut(_ exchange: Exchange) -> Bool {
        guard exchange.place == nil, exchange.resends == 0, let link = self.current.flatMap({ self.links[$0] }) else {
            return false
        }
        return link.hasAnswered && link.streamsOpen > 0
    }

    /// Its connection is gone, or the peer did not want it there.
    private func sendAgain(_ id: UInt64) {
        guard let exchange = self.exchanges[id] else { return }
        guard exchange.resends < HTTP2Limits.resendsMax, !self.isClosed else {
            return self.finish(id, .failure(.unavailable))
        }
        self.exchanges[id]?.resends += 1
        self.exchanges[id]?.place = nil
        self.wait(id, givesWay: exchange.givesWay)
    }

    private func failWaiting(_ error: HTTP2Error = .unavailable) {
        let waiting = self.waiting + self.waitingBehind
        self.waiting = []
        self.waitingBehind = []
        for id in waiting { self.finish(id, .failure(error)) }
    }

    // MARK: Connections

    private func connect() {
        guard !self.isClosed, self.current == nil, !self.waiting.isEmpty || !self.waitingBehind.isEmpty else { return }
        if let pausesUntil, pausesUntil > .now() {
            if self.reconnect == nil { self.failWaiting() }
            return
        }
        self.lastLink += 1
        let id = self.lastLink
        let link = HTTP2Connection(authority: self.origin.authority)
        link.onNews = { [weak self] news in
            // The link lives on the actor's own loop.
            self?.assumeIsolated { $0.heard(news, from: id) }
        }
        self.links[id] = link
        self.current = id
        self.watches[id] = self.eventLoop.scheduleTask(in: TimeAmount(HTTP2Limits.connectMax)) {
            self.assumeIsolated { if $0.links[id]?.isReady == false { $0.links[id]?.close() } }
        }
        let bound = NIOLoopBound(link, eventLoop: self.eventLoop)
        let (tls, origin, gated) = (self.tls, self.origin, !self.allowsPrivateAddresses)
        ClientBootstrap(group: self.eventLoop)
            .connectTimeout(TimeAmount(HTTP2Limits.connectMax))
            .resolver(self.names?.resolver(on: self.eventLoop))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if gated { try channel.pipeline.syncOperations.addHandler(AddressGate()) }
                }
            }
            .connect(host: origin.host, port: origin.port)
            .whenComplete { result in
                // Several addresses may have been tried side by side; only the channel that is left gets the connection.
                guard case .success(let channel) = result, channel.isActive else {
                    if case .failure(let error) = result, ClientNames.isRefusal(error) {
                        bound.value.isCrowdedOut = true
                    }
                    return bound.value.close()
                }
                do {
                    // The name is checked against the certificate; an address cannot be sent as one (RFC 6066 §3).
                    let isAddress = (try? SocketAddress(ipAddress: origin.host, port: 0)) != nil
                    let client = try NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : origin.host)
                    try channel.pipeline.syncOperations.addHandlers([client, bound.value])
                } catch {
                    channel.close(promise: nil)
                    bound.value.close()
                }
            }
    }

    private func heard(_ news: HTTP2Connection.News, from id: UInt64) {
        switch news {
        case .event(.ready): self.watch(id)
        case .event(.answered(let stream, let response)):
            // Not before: a peer that only greets us has not helped anybody.
            self.failedConnects = 0
            self.pausesUntil = nil
            if let exchange = self.streams[id]?.removeValue(forKey: stream) {
                self.finish(exchange, .success(response))
            }
            self.closeIfDone(id)
        case .event(.failed(let stream, _)):
            if let exchange = self.streams[id]?.removeValue(forKey: stream) { self.sendAgain(exchange) }
            self.closeIfDone(id)
        case .event(.goingAway):
            self.logger.debug("provider's connection goes away", [:])
            if self.current == id { self.current = nil }
            self.closeIfDone(id)
        case .event(.pong): break
        case .closed: self.ended(id)
        }
        self.pump()
    }

    /// A connection that takes no more requests and has none.
    private func closeIfDone(_ id: UInt64) {
        guard let link = self.links[id], link.isDraining, self.streams[id]?.isEmpty ?? true else { return }
        link.close()
    }

    private func watch(_ id: UInt64) {
        self.watches[id]?.cancel()
        self.watches[id] = self.eventLoop.scheduleTask(in: TimeAmount(HTTP2Limits.pingEvery)) {
            self.assumeIsolated { client in
                if client.links[id]?.ping() == true { client.watch(id) }
            }
        }
    }

    private func ended(_ id: UInt64) {
        guard let link = self.links.removeValue(forKey: id) else { return }
        self.watches.removeValue(forKey: id)?.cancel()
        if self.current == id { self.current = nil }
        for exchange in (self.streams.removeValue(forKey: id) ?? [:]).values.sorted() { self.sendAgain(exchange) }
        // Not the peer's fault: nobody has asked it.
        if link.isCrowdedOut { return self.failWaiting(.full) }
        guard !link.hasAnswered, !self.isClosed else { return }
        // Nobody had anything of it: the next attempt comes later.
        self.failedConnects += 1
        let pause = TimeAmount(
            HTTP2Limits.reconnect.pause(after: self.failedConnects) * Double.random(in: 0.75...1.25))
        self.pausesUntil = .now() + pause
        self.logger.warning("provider cannot be reached", [.attempt: .number(self.failedConnects)])
        // If it never worked, whoever waits learns it now. If it did, they may have been the ones it went away from: they
        // wait on, each no longer than its time.
        guard link.isReady else { return self.failWaiting() }
        self.reconnect?.cancel()
        self.reconnect = self.eventLoop.scheduleTask(in: pause) {
            self.assumeIsolated { $0.pauseEnded() }
        }
    }

    private func pauseEnded() {
        self.reconnect = nil
        self.pump()
    }
}
