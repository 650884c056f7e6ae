/// The body of each error that is answered over HTTP (contract §1): `{"error": CODE, "message": text}`.
package enum HTTPErrorBody {
    package static func json(_ code: ErrorCode, _ message: String) -> [UInt8] {
        var json = JSONWriter()
        json.add("error", code.rawValue)
        json.add("message", message)
        return json.finished()
    }
}
