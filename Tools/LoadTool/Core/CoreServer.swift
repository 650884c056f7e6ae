import Contract
import Foundation
import Synchronization
import WhisperClient

/// A server in the process of the core. It takes each message at once, and gives out mail that was made before. So the
/// processor time of the process is that of the core, but for a scan of each frame.
final class CoreServer: ServerLink {
    private struct State {
        var nextPage = 0
        var pagesAllowed = 0
        var accepted = 0
    }

    /// Files, each with the payload of one `pending_messages`, without its cursor.
    private let pages: [String]
    private let state = Mutex(State())

    init(pages: [String] = []) { self.pages = pages }

    /// Messages of the core that were taken.
    var accepted: Int { self.state.withLock { $0.accepted } }

    /// So many further pages are given out.
    func allow(pages: Int) { self.state.withLock { $0.pagesAllowed = $0.nextPage + pages } }

    // MARK: ServerLink

    func open() async throws(LinkError) -> any OpenLink { Link(server: self) }

    func get(_ path: String, bearer: String) async throws(LinkError) -> HTTPAnswer { HTTPAnswer(status: 404, body: []) }

    func put(
        _ path: String, _ body: [UInt8], if condition: WriteCondition?, bearer: String
    ) async throws(LinkError) -> HTTPAnswer {
        HTTPAnswer(status: 200, body: [], entityTag: "\"1\"")
    }

    func post(_ path: String, _ body: [UInt8], bearer: String?) async throws(LinkError) -> HTTPAnswer {
        HTTPAnswer(status: 404, body: [])
    }

    func delete(_ path: String, bearer: String) async throws(LinkError) -> HTTPAnswer {
        HTTPAnswer(status: 404, body: [])
    }

    private final class Link: OpenLink {
        let events: AsyncStream<LinkEvent>
        private let continuation: AsyncStream<LinkEvent>.Continuation
        private let server: CoreServer

        init(server: CoreServer) {
            (self.events, self.continuation) = AsyncStream.makeStream(
                bufferingPolicy: .bufferingOldest(LinkLimits.eventsWaitingMax))
            self.server = server
        }

        func send(_ text: [UInt8]) {
            guard let answer = self.server.answer(text) else { return }
            self.continuation.yield(.text(answer))
        }

        func close() { self.continuation.finish() }
    }

    // MARK: Frames

    private func answer(_ frame: [UInt8]) -> [UInt8]? {
        switch Self.text("\"type\":\"", in: frame) {
        case "ping":
            let time = Self.text("\"timestamp\":", in: frame) ?? "0"
            let now = Timestamp.now.milliseconds
            return Self.frame("pong", #"{"timestamp":\#(time),"serverTime":\#(now)}"#, answering: frame)
        case "send_message":
            self.state.withLock { $0.accepted += 1 }
            let id = Self.text("\"messageId\":\"", in: frame) ?? ""
            return Self.frame("message_accepted", #"{"messageId":"\#(id)","status":"sent"}"#, answering: frame)
        case "fetch_pending": return Self.frame("pending_messages", self.page(), answering: frame)
        default: return nil
        }
    }

    private func page() -> String {
        let (page, isLast) = self.state.withLock { state -> (Int?, Bool) in
            let end = min(state.pagesAllowed, self.pages.count)
            guard state.nextPage < end else { return (nil, true) }
            defer { state.nextPage += 1 }
            return (state.nextPage, state.nextPage + 1 == end)
        }
        guard let page, let messages = try? String(contentsOfFile: self.pages[page], encoding: .utf8) else {
            return #"{"messages":[]}"#
        }
        return #"{"messages":[\#(messages)]\#(isLast ? "" : #","nextCursor":"\#(page)""#)}"#
    }

    private static func frame(_ type: String, _ payload: String, answering frame: [UInt8]) -> [UInt8] {
        let request = Self.text("\"requestId\":\"", in: frame).map { #","requestId":"\#($0)""# } ?? ""
        return Array(#"{"type":"\#(type)"\#(request),"payload":\#(payload)}"#.utf8)
    }

    /// The text behind a name, up to the end of the value.
    private static func text(_ name: StaticString, in frame: [UInt8]) -> String? {
        frame.withUnsafeBytes { bytes in
            bytes.end(of: name).map { start in
                String(decoding: bytes[start...].prefix { !ends.contains($0) }, as: UTF8.self)
            }
        }
    }

    private static let ends = Array("\",}".utf8)
}
