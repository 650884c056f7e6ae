/// The body of each error that is answered over HTTP (contract §1): `{"error": CODE, "message": text}`, with a `reason` where a client can
/// act on more than the code (contract §20.1).
package enum HTTPErrorBody {
    package static func json(_ code: ErrorCode, _ message: String, reason: RefusalReason? = nil) -> [UInt8] {
        var json = JSONWriter()
        json.add("error", code.rawValue)
        json.add("message", message)
        json.add("reason", reason?.rawValue)
        return json.finished()
    }
}
