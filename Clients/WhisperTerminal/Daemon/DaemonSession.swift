import Dispatch
import Glibc
import Synchronization
import TerminalText
import WhisperCore

/// One program that speaks JSON-RPC with a core: a line is a request, an answer or an event.
///
/// Requests are done one after the other. An event is read from the core when the one before it was written, so nothing
/// piles up here: for whoever reads slowly, events wait in the core.
final class DaemonSession: Sendable {
    private let core: Core
    private let seat: CoreSeat
    private let input: Int32
    private let output: Int32
    /// Opens the app's door, if this daemon can.
    private let app: AppHost?
    /// Makes the other end's input end, if that can be done.
    private let cut: @Sendable () -> Void
    private let isOver = Mutex(false)
    /// One line at a time.
    private let writing = Mutex(())

    /// - Parameter seat: of this program. It is left in the end.
    init(
        _ core: Core, at seat: CoreSeat, input: Int32, output: Int32, app: AppHost? = nil,
        cut: @escaping @Sendable () -> Void
    ) {
        (self.core, self.seat, self.input, self.output, self.app, self.cut) = (core, seat, input, output, app, cut)
    }

    /// Returns when the program has gone, or the core is closed. It blocks its thread.
    func serve() {
        let isDone = DispatchSemaphore(value: 0)
        DispatchQueue(label: "whisper-daemon-events").async {
            self.passEventsOn()
            isDone.signal()
        }
        var lines = RequestLines(self.input, bytesMax: JSONRPC.lineBytesMax)
        while !self.isOver.withLock({ $0 }), let line = lines.next() {
            switch line {
            case .tooLong: self.write(JSONRPC.tooLong)
            case .text(let request):
                let (core, seat, app) = (self.core, self.seat, self.app)
                let answer = Blocking.wait { () -> [UInt8]? in
                    if let app, let answer = await app.answer(request) { return answer }
                    return await JSONRPC.answer(request, from: core, at: seat)
                }
                if let answer = answer ?? nil { self.write(answer) }
            }
        }
        self.end()
        isDone.wait()
        self.seat.leave()
    }

    private func passEventsOn() {
        while !self.isOver.withLock({ $0 }) {
            guard let event = self.seat.nextEvent(until: nil) else { return self.end() }
            // Somebody has interrupted the wait.
            guard !event.isEmpty else { continue }
            self.write(JSONRPC.notification(of: event))
        }
    }

    private func end() {
        let isFirst = self.isOver.withLock { isOver in
            defer { isOver = true }
            return !isOver
        }
        guard isFirst else { return }
        self.cut()
        self.seat.interrupt()
    }

    private func write(_ line: [UInt8]) {
        // A person who tries it at a terminal.
        let isShown = isatty(self.output) == 1
        let line = isShown ? Array(harmlessJSON(String(decoding: line, as: UTF8.self)).utf8) : line
        let isWritten = self.writing.withLock { _ in Self.write(line + [0x0A], to: self.output) }
        if !isWritten { self.end() }
    }

    /// Waits until everything is written.
    /// - Returns: `false` if nobody reads it any more.
    @discardableResult
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
