import NIOCore
import NIOHTTP1
import NIOPosix

extension NetworkLink {
    package func upload(
        to url: String, bytes: Int64, piece: @escaping @Sendable (_ place: Int64) async -> [UInt8]?
    ) async throws(LinkError) -> Int {
        let (url, channel) = try await self.fileChannel(to: url)
        var head = HTTPRequestHead(version: .http1_1, method: .PUT, uri: url.path)
        head.headers = [
            "host": url.authority, "connection": "close", "content-type": "application/octet-stream",
            "content-length": "\(bytes)",
        ]
        let request = head
        return try await Self.failing {
            try await channel.executeThenClose { inbound, outbound in
                try await withThrowingTaskGroup(of: Int?.self) { group in
                    // A server that refuses the file says so before it has all of it.
                    group.addTask { try await Self.status(inbound) }
                    group.addTask {
                        try await outbound.write(.head(request))
                        var place: Int64 = 0
                        while place < bytes {
                            guard let part = await piece(place), !part.isEmpty else { throw LinkError.timeout }
                            try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: part))))
                            place += Int64(part.count)
                        }
                        try await outbound.write(.end(nil))
                        return nil
                    }
                    defer { group.cancelAll() }
                    var failure: (any Error)?
                    while let result = await group.nextResult() {
                        switch result {
                        case .success(let status?): return status
                        case .success(nil): continue
                        // The answer may still come.
                        case .failure(let error): failure = failure ?? error
                        }
                    }
                    throw failure ?? LinkError.timeout
                }
            }
        }
    }

    package func download(
        from url: String, startingAt start: Int64,
        take: @escaping @Sendable (_ piece: [UInt8], _ place: Int64) async -> Bool
    ) async throws(LinkError) -> Int {
        let (url, channel) = try await self.fileChannel(to: url)
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: url.path)
        head.headers = ["host": url.authority, "connection": "close"]
        if start > 0 { head.headers.add(name: "range", value: "bytes=\(start)-") }
        let request = head
        return try await Self.failing {
            try await channel.executeThenClose { inbound, outbound in
                try await outbound.write(.head(request))
                try await outbound.write(.end(nil))
                var status = 0
                var place: Int64 = 0
                for try await part in inbound {
                    switch part {
                    case .head(let head):
                        status = Int(head.status.code)
                        guard status == 200 || status == 206 else { return status }
                        // Some stores send a range with 200.
                        let range = head.headers.first(name: "content-range")
                        guard range != nil || status == 200 else {
                            throw LinkError.unreachable("a part without its range")
                        }
                        if let range {
                            guard range.hasPrefix("bytes \(start)-") else {
                                throw LinkError.unreachable("another range than asked for")
                            }
                            place = start
                        }
                    case .body(let buffer):
                        guard await take(Array(buffer.readableBytesView), place) else { return status }
                        place += Int64(buffer.readableBytes)
                    case .end: return status
                    }
                }
                throw LinkError.unreachable("the connection broke")
            }
        }
    }

    private typealias FileChannel = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    private func fileChannel(to text: String) async throws(LinkError) -> (FileURL, FileChannel) {
        // A client that uses TLS with the server also requires it of the server's file store.
        guard let url = FileURL(text), url.server.isSecure || !self.isSecure else {
            throw .unreachable("the server gave a URL that is not used")
        }
        let channel = try await self.connect(to: url.server) { channel in
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHTTPClientHandlers()
            try pipeline.addHandler(IdleStateHandler(allTimeout: LinkLimits.fileIdleTimeout))
            try pipeline.addHandler(IdleCloser())
            return try FileChannel(wrappingChannelSynchronously: channel)
        }
        return (url, channel)
    }

    private static func status(_ inbound: NIOAsyncChannelInboundStream<HTTPClientResponsePart>) async throws -> Int? {
        for try await part in inbound {
            if case .head(let head) = part, head.status.code >= 200 { return Int(head.status.code) }
        }
        throw LinkError.unreachable("the connection broke")
    }

    private static func failing<Value>(_ body: () async throws -> Value) async throws(LinkError) -> Value {
        do { return try await body() } catch {
            throw error as? LinkError ?? .unreachable("\(error)")
        }
    }
}

/// Closes a connection on which nothing moves.
private final class IdleCloser: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}
