import Contract
import Synchronization
import TerminalText
import WhisperCore

/// QR codes for the page: drawn, and read.
final class AppCodes: Sendable {
    static let drawPath = "/qr"
    static let readPath = "/scan"
    /// Bytes of a text that is drawn.
    private static let textBytesMax = 1_000

    private let isReading = Mutex(false)

    /// `{"text"}` → `{"rows"}`: a text for each row, with a 1 for each dark module.
    func draw(_ body: [UInt8]) -> DoorAnswer {
        guard case .object(let members) = JSONText(body), let text = members.string("text"), !text.isEmpty,
            text.utf8.count <= Self.textBytesMax, let code = QRCode(text)
        else { return DoorAnswer(.badRequest) }
        var json = JSONWriter()
        json.add("rows", strings: code.rows.map { row in String(row.map { $0 ? "1" : "0" }) })
        return DoorAnswer(.ok, json.finished())
    }

    /// A picture → `{"text"}`, or nothing if it has no code. One picture is read at a time.
    func read(_ body: [UInt8]) async -> DoorAnswer {
        guard let picture = CodeReader.Picture(body) else { return DoorAnswer(.badRequest) }
        let isFree = self.isReading.withLock { isReading in
            defer { isReading = true }
            return !isReading
        }
        guard isFree else { return DoorAnswer(.tooManyRequests) }
        defer { self.isReading.withLock { $0 = false } }
        switch await CodeReader.read(picture) {
        case .text(let text):
            var json = JSONWriter()
            json.add("text", text)
            return DoorAnswer(.ok, json.finished())
        case .nothing: return DoorAnswer(.noContent)
        case .failed: return DoorAnswer(.serviceUnavailable)
        case .unavailable: return DoorAnswer(.notImplemented)
        }
    }
}
