package import Contract
package import Hummingbird

/// The JSON body of a request, checked against its schema.
package enum JSONBody {
    /// - Parameters:
    ///   - bytesMax: longest body taken, in bytes.
    ///   - isOptional: whether no body at all counts as an empty object.
    package static func payload(
        of request: Request, _ schema: ObjectSchema, bytesMax: Int, isOptional: Bool = false
    ) async throws(HTTPRefusal) -> Payload {
        let buffer: ByteBuffer
        do {
            buffer = try await request.body.collect(upTo: bytesMax)
        } catch {
            throw .invalid(PayloadViolation("", "the body is too long, or ended early"))
        }
        var bytes = Array(buffer.readableBytesView)
        if bytes.isEmpty, isOptional { bytes = Array("{}".utf8) }
        do throws(PayloadViolation) {
            guard String(validating: bytes, as: UTF8.self) != nil else { throw PayloadViolation("", "must be UTF-8") }
            return try FrameDecoder.payload(bare: Array(bytes.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }), schema: schema)
        } catch {
            throw .invalid(error)
        }
    }
}
