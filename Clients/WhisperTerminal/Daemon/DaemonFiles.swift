import Contract
import NIOCore
import NIOHTTP1
import Synchronization
import WhisperClient
import WhisperCore

/// Files over HTTP: in, sealed as they come, and out, decrypted as they go. Nothing of them is plain on the disk.
enum DaemonFiles {
    static let path = "/files"

    /// A request that gets no file.
    struct Refusal: Error {
        var answer: DoorAnswer

        init(_ error: CoreError) {
            let status: HTTPResponseStatus =
                switch error.code {
                case .tooLarge: .payloadTooLarge
                case .tooMany: .tooManyRequests
                case .notFound: .notFound
                default: .conflict
                }
            self.answer = DoorAnswer(status, error.answer)
        }
    }

    // MARK: In

    /// - Returns: `nil` if the request does not say how long its body is.
    static func length(of head: HTTPRequestHead) -> Int64? {
        let lengths = head.headers["content-length"]
        guard lengths.count == 1, head.headers["transfer-encoding"].isEmpty else { return nil }
        return Int64(lengths[0])
    }

    /// The body of a request, which becomes a file for `attachment_send`.
    final class Upload: Sendable {
        private let pieces: AsyncStream<[UInt8]>.Continuation
        /// Bytes of the next piece, and pieces that are not sealed yet.
        private let state = Mutex((piece: [UInt8](), waiting: 0))

        /// - Parameter answer: gets the answer, and whether the body was read to its end.
        init(
            bytes: Int64, to core: Core, _ channel: any Channel,
            answer: @escaping @Sendable (DoorAnswer, _ isWhole: Bool) -> Void
        ) {
            let (stream, pieces) = AsyncStream.makeStream(of: [UInt8].self)
            self.pieces = pieces
            Task {
                do throws(CoreError) {
                    let file = try await core.takeFile(bytes: bytes)
                    do {
                        for await piece in stream {
                            try await file.add(piece)
                            self.state.withLock { $0.waiting -= 1 }
                            channel.pipeline.fireUserInboundEventTriggered(DaemonRequest.HasMoved())
                        }
                        try await file.finish()
                    } catch {
                        await file.drop()
                        return answer(DoorAnswer(.insufficientStorage), false)
                    }
                    var json = JSONWriter()
                    json.add("file", file.id)
                    answer(DoorAnswer(.ok, json.finished()), true)
                } catch {
                    answer(Refusal(error).answer, false)
                }
            }
        }

        /// Whether no more is to be read now.
        var isFull: Bool { self.state.withLock { $0.waiting > 0 } }

        func add(_ bytes: some Collection<UInt8>) {
            self.state.withLock { state in
                state.piece += bytes
                while state.piece.count >= ComingFile.pieceBytes {
                    self.pieces.yield(Array(state.piece.prefix(ComingFile.pieceBytes)))
                    state.piece.removeFirst(ComingFile.pieceBytes)
                    state.waiting += 1
                }
            }
        }

        /// The body has ended, or its connection. A file that is not whole goes.
        func end() {
            self.state.withLock { state in
                if !state.piece.isEmpty { self.pieces.yield(state.piece) }
                state.piece = []
            }
            self.pieces.finish()
        }
    }

    // MARK: Out

    /// Writes the file of a message: `?messageId=ID`, and `&from=WSP-…` for one of another person.
    /// - Throws: a `Refusal` before anything was written.
    static func give(
        _ head: HTTPRequestHead, from core: Core, _ headers: HTTPHeaders, stays: Bool, to channel: any Channel
    ) async throws {
        let file = try await self.file(head, of: core)
        var answer = HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)
        answer.headers.add(contentsOf: [
            "content-type": DoorAnswer.bytes, "content-length": "\(file.size)", "content-security-policy": "sandbox",
        ])
        if !stays { answer.headers.add(name: "connection", value: "close") }
        try await DaemonRequest.begin(answer, on: channel).get()
        while let piece = try await file.next() {
            // It waits for a slow reader.
            try await channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: piece)))).get()
            channel.pipeline.fireUserInboundEventTriggered(DaemonRequest.HasMoved())
        }
        try await channel.writeAndFlush(HTTPServerResponsePart.end(nil)).get()
    }

    private static func file(_ head: HTTPRequestHead, of core: Core) async throws(Refusal) -> PlainFile {
        let query = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).dropFirst().first
        var values: [Substring: Substring] = [:]
        for part in (query ?? "").split(separator: "&", omittingEmptySubsequences: false) {
            guard let mark = part.firstIndex(of: "=") else { continue }
            values[part[..<mark]] = part[part.index(after: mark)...]
        }
        let author = values["from"].map { WhisperID(String($0)) }
        guard let id = values["messageId"].flatMap({ UUIDText(String($0)) }), author != .some(nil) else {
            throw Refusal(.noFile)
        }
        do throws(CoreError) { return try await core.keptFile(of: id, from: author ?? nil) } catch {
            throw Refusal(error)
        }
    }
}
