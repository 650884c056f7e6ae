import NIOCore

/// The gateway's end of a client's connection.
final class SimulatedSocket: Channel, ChannelCore, @unchecked Sendable {
    let eventLoop: any EventLoop
    let allocator = ByteBufferAllocator()
    let remoteAddress: SocketAddress?
    private(set) lazy var pipeline = ChannelPipeline(channel: self)
    private let closePromise: EventLoopPromise<Void>
    private(set) var isActive = true
    private var unsent: [[UInt8]] = []
    /// Bytes on their way to the client.
    var onBytes: ([UInt8]) -> Void = { _ in }
    /// The gateway has closed the connection.
    var onClose: () -> Void = {}

    init(loop: SimulatedLoop, address: String) throws {
        self.eventLoop = loop
        self.remoteAddress = try SocketAddress(ipAddress: address, port: 50_000)
        self.closePromise = loop.makePromise()
    }

    // MARK: From the client

    func open(with handler: any ChannelHandler) throws {
        try self.pipeline.syncOperations.addHandler(handler)
        self.pipeline.fireChannelRegistered()
        self.pipeline.fireChannelActive()
    }

    func receive(_ bytes: [UInt8]) {
        guard self.isActive else { return }
        self.pipeline.fireChannelRead(ByteBuffer(bytes: bytes))
        self.pipeline.fireChannelReadComplete()
    }

    /// The connection is gone.
    func end() {
        guard self.isActive else { return }
        self.isActive = false
        self.pipeline.fireChannelInactive()
        self.pipeline.fireChannelUnregistered()
        self.removeHandlers(pipeline: self.pipeline)
        self.closePromise.succeed()
        (self.onBytes, self.onClose) = ({ _ in }, {})
    }

    // MARK: From the gateway

    func write0(_ data: NIOAny, promise: EventLoopPromise<Void>?) {
        self.unsent.append(Array(self.unwrapData(data, as: ByteBuffer.self).readableBytesView))
        promise?.succeed()
    }

    func flush0() {
        let unsent = self.unsent
        self.unsent = []
        for bytes in unsent { self.onBytes(bytes) }
    }

    func close0(error: any Error, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard self.isActive else {
            promise?.fail(ChannelError.alreadyClosed)
            return
        }
        self.onClose()
        self.end()
        promise?.succeed()
    }

    // MARK: What nobody asks for

    var closeFuture: EventLoopFuture<Void> { self.closePromise.futureResult }
    var localAddress: SocketAddress? { nil }
    var parent: (any Channel)? { nil }
    var isWritable: Bool { true }
    var _channelCore: any ChannelCore { self }
    func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
        self.eventLoop.makeSucceededVoidFuture()
    }
    func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
        self.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
    }
    func localAddress0() throws -> SocketAddress { throw ChannelError.operationUnsupported }
    func remoteAddress0() throws -> SocketAddress { self.remoteAddress! }
    func register0(promise: EventLoopPromise<Void>?) { promise?.succeed() }
    func registerAlreadyConfigured0(promise: EventLoopPromise<Void>?) { promise?.succeed() }
    func bind0(to: SocketAddress, promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.operationUnsupported) }
    func connect0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }
    func read0() {}
    func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }
    func channelRead0(_ data: NIOAny) {}
    func errorCaught0(error: any Error) {}
}
