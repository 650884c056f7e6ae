import Contract
import NIOCore
import NIOPosix
import Synchronization

/// A radio played by a program at a Unix socket: for tests, and for hosts whose radio is another process.
///
/// Calls and events are lines of JSON (`RadioLines.swift`). When the socket breaks, the radio is off for good.
final class SocketRadio: Radio {
    let events: AsyncStream<RadioEvent>
    private let continuation: AsyncStream<RadioEvent>.Continuation
    private let state: Mutex<State>

    private struct State {
        var channel: (any Channel)?
        var linesWaiting = 0
        var isFull = false
        var isOver = false
        /// The packet capacity of connected phones.
        var mtus: [NearbyPeer: Int] = [:]
    }

    /// The capacity of a packet until the radio reports another.
    private static let mtuUnknown = 23
    /// Phones whose packet capacity is kept.
    private static let mtusMax = 64

    init(path: String) {
        (self.events, self.continuation) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(NearbyLimits.radioEventsWaitingMax))
        self.state = Mutex(State())
        ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(LinkLimits.connectTimeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(RadioLineHandler(self))
                }
            }
            .connect(unixDomainSocketPath: path)
            .whenFailure { _ in self.end(.unsupported) }
    }

    // MARK: Calls

    func advertise(service: UUIDText, name: String?) { self.write(.advertise(service: service, name: name)) }
    func stopAdvertising() { self.write(.stopAdvertising) }
    func scan(service: UUIDText) { self.write(.scan(service: service)) }
    func stopScan() { self.write(.stopScan) }
    func connect(_ peer: NearbyPeer) { self.write(.connect(peer)) }
    func disconnect(_ peer: NearbyPeer) { self.write(.disconnect(peer)) }
    func discover(_ peer: NearbyPeer) { self.write(.discover(peer)) }
    func subscribe(_ peer: NearbyPeer, _ characteristic: UUIDText) { self.write(.subscribe(peer, characteristic)) }

    func write(_ peer: NearbyPeer, _ characteristic: UUIDText, _ value: [UInt8], token: UInt64) {
        self.write(.write(peer, characteristic, value, token: token))
    }

    func indicate(_ characteristic: UUIDText, _ value: [UInt8], to central: NearbyPeer, token: UInt64) -> Bool {
        guard !self.state.withLock({ $0.isFull }) else { return false }
        self.write(.indicate(central, characteristic, value, token: token))
        return true
    }

    func mtu(_ peer: NearbyPeer) -> Int { self.state.withLock { $0.mtus[peer] } ?? Self.mtuUnknown }

    func close() {
        let channel = self.state.withLock { state in
            state.isOver = true
            return state.channel
        }
        // Lines that were written earlier are sent first.
        channel?.close(promise: nil)
        self.continuation.finish()
    }

    // MARK: The socket

    private func write(_ call: RadioCall) {
        let line = call.line + [UInt8(ascii: "\n")]
        // In the lock, so that lines keep the order of their calls. Before the first event no call is needed.
        let isTaken = self.state.withLock { state in
            guard !state.isOver, let channel = state.channel else { return true }
            guard state.linesWaiting < NearbyLimits.linesWaitingMax else { return false }
            state.linesWaiting += 1
            self.write(line, to: channel)
            return true
        }
        // The program at the other end does not read.
        if !isTaken { self.end(.off) }
    }

    private func write(_ line: [UInt8], to channel: any Channel) {
        channel.writeAndFlush(ByteBuffer(bytes: line)).whenComplete { _ in
            self.state.withLock { $0.linesWaiting -= 1 }
        }
    }

    fileprivate func opened(_ channel: any Channel) {
        let isOver = self.state.withLock { state in
            state.channel = channel
            return state.isOver
        }
        if isOver { channel.close(promise: nil) }
    }

    fileprivate func heard(_ line: RadioLine) {
        guard case .event(let event, let mtu) = line else { return self.state.withLock { $0.isFull = true } }
        self.state.withLock { state in
            switch event {
            case .readyToIndicate: state.isFull = false
            case .peripheral(let peer, .disconnected), .central(let peer, .unsubscribed(NearbyService.toCentral)):
                state.mtus[peer] = nil
            case .peripheral(let peer, _), .central(let peer, _):
                guard let mtu, state.mtus[peer] != nil || state.mtus.count < Self.mtusMax else { break }
                state.mtus[peer] = mtu
            case .state, .found: break
            }
        }
        guard case .dropped = self.continuation.yield(event) else { return }
        // Phones advertise again. Any other event would be lost for ever.
        if case .found = event { return }
        self.end(.off)
    }

    /// The socket broke, or the program at the other end sends invalid lines.
    fileprivate func end(_ last: RadioState) {
        let (isFirst, channel) = self.state.withLock { state in
            defer { state.isOver = true }
            return (!state.isOver, state.channel)
        }
        guard isFirst else { return }
        self.continuation.yield(.state(last))
        self.continuation.finish()
        channel?.close(promise: nil)
    }
}

/// The phones around, over a radio at this Unix socket.
///
/// The radio connects in the background. If no program listens there, the radio is `unsupported`, and the events end.
package func socketLink(path: String) -> any NearbyLink { RadioLink(SocketRadio(path: path)) }

/// Cuts the received bytes into lines.
private final class RadioLineHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let radio: SocketRadio
    private var line: [UInt8] = []

    init(_ radio: SocketRadio) { self.radio = radio }

    func channelActive(context: ChannelHandlerContext) {
        self.radio.opened(context.channel)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        for part in self.unwrapInboundIn(data).readableBytesView.split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
        ).enumerated() {
            // A part after another begins a line.
            if part.offset > 0 { self.ended() }
            self.line += part.element
            guard self.line.count <= NearbyLimits.lineBytesMax else { return self.radio.end(.off) }
        }
    }

    private func ended() {
        defer { self.line.removeAll(keepingCapacity: true) }
        guard let line = RadioLine(self.line) else { return self.radio.end(.off) }
        self.radio.heard(line)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.radio.end(.off)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
