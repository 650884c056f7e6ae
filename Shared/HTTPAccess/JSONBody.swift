package import Contract
package import Hummingbird

/// The JSON body of a request, checked against its schema.
package enum JSONBody {
    /// - Parameters:
    ///   - bytesMax: longest body taken, in bytes.
    ///   - tooLong: what a longer one is answered with; `nil`: INVALID_PAYLOAD.
    package static func read<Body: HTTPBody>(
        _: Body.Type = Body.self, of request: Request, bytesMax: Int, tooLong: HTTPRefusal? = nil
    ) async throws(HTTPRefusal) -> Body {
        let buffer: ByteBuffer
        do {
            buffer = try await request.body.collect(upTo: bytesMax)
        } catch let error as any HTTPResponseError where error.status == .contentTooLarge {
            throw tooLong ?? .invalid(PayloadViolation("", "the body is too long"))
        } catch {
            throw .invalid(PayloadViolation("", "the body ended early"))
        }
        return try self.read(in: Array(buffer.readableBytesView))
    }

    package static func read<Body: HTTPBody>(
        _: Body.Type = Body.self, in bytes: [UInt8]
    ) throws(HTTPRefusal) -> Body {
        let payload = try self.payload(bytes, Body.schema)
        do throws(Payload.Corrupted) {
            return try Body(payload)
        } catch {
            assertionFailure("a body satisfies its schema and cannot be read")
            throw .internalError
        }
    }

    private static func payload(_ bytes: [UInt8], _ schema: ObjectSchema) throws(HTTPRefusal) -> Payload {
        do throws(PayloadViolation) {
            guard String(validating: bytes, as: UTF8.self) != nil else { throw PayloadViolation("", "must be UTF-8") }
            return try FrameDecoder.payload(
                bare: Array(bytes.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }), schema: schema)
        } catch {
            throw .invalid(error)
        }
    }
}
