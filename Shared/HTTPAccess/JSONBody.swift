package import Contract
package import Hummingbird

/// The JSON body of a request, checked against its schema.
package enum JSONBody {
    /// - Parameter bytesMax: longest body taken, in bytes.
    package static func payload(
        of request: Request, _ schema: ObjectSchema, bytesMax: Int
    ) async throws(HTTPRefusal) -> Payload {
        let buffer: ByteBuffer
        do {
            buffer = try await request.body.collect(upTo: bytesMax)
        } catch {
            throw .invalid(PayloadViolation("", "the body is too long, or ended early"))
        }
        return try self.payload(Array(buffer.readableBytesView), schema)
    }

    package static func payload(_ bytes: [UInt8], _ schema: ObjectSchema) throws(HTTPRefusal) -> Payload {
        do throws(PayloadViolation) {
            guard String(validating: bytes, as: UTF8.self) != nil else { throw PayloadViolation("", "must be UTF-8") }
            return try FrameDecoder.payload(bare: Array(bytes.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }), schema: schema)
        } catch {
            throw .invalid(error)
        }
    }
}
