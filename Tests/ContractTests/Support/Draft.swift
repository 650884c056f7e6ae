import Contract
import Foundation

/// A frame under construction: a valid sample whose members can be exchanged for other JSON text.
struct Draft {
    var type: String
    var requestID: String? = #""r1""#
    /// Names and values, both as JSON text.
    var members: [(name: String, value: String)]

    /// - Parameter sample: which of the definition's samples.
    init(_ definition: FrameDefinition, sample: Int = 0) {
        self.type = definition.type
        let json = try! JSONSerialization.jsonObject(with: Data(definition.samples[sample].utf8)) as! [String: Any]
        self.members = definition.schema.fields.compactMap { field in
            json[field.name].map { (#""\#(field.name)""#, Self.text($0)) }
        }
    }

    private static func text(_ value: Any) -> String {
        let options: JSONSerialization.WritingOptions = [.fragmentsAllowed, .withoutEscapingSlashes, .sortedKeys]
        return String(decoding: try! JSONSerialization.data(withJSONObject: value, options: options), as: UTF8.self)
    }

    func with(_ name: String, _ value: String) -> Draft {
        var draft = self.without(name)
        draft.members.append((#""\#(name)""#, value))
        return draft
    }

    func without(_ name: String) -> Draft {
        var draft = self
        draft.members.removeAll { $0.name == #""\#(name)""# }
        return draft
    }

    /// Adds a member whose name is JSON text already.
    func adding(_ name: String, _ value: String) -> Draft {
        var draft = self
        draft.members.append((name, value))
        return draft
    }

    func value(_ name: String) -> String? { self.members.first { $0.name == #""\#(name)""# }?.value }

    var payload: String { "{" + self.members.map { "\($0.name):\($0.value)" }.joined(separator: ",") + "}" }

    var message: String {
        let requestID = self.requestID.map { #","requestId":\#($0)"# } ?? ""
        return #"{"type":"\#(self.type)"\#(requestID),"payload":\#(self.payload)}"#
    }
}

/// Reads a message as the gateway does: envelope, known type, schema, rules between fields.
func read(
    _ message: [UInt8]
) throws(FrameDecoder.Failure) -> (definition: FrameDefinition, payload: Payload, requestID: String?) {
    let envelope = try FrameDecoder.envelope(of: message)
    guard let definition = FrameCatalogue.definition(of: envelope.type) else {
        throw FrameDecoder.Failure(violation: PayloadViolation("type", "is unknown"), requestID: envelope.requestID)
    }
    do throws(PayloadViolation) {
        let payload = try FrameDecoder.payload(envelope, of: message, schema: definition.schema)
        if let violation = definition.rule(payload) { throw violation }
        return (definition, payload, envelope.requestID)
    } catch {
        throw FrameDecoder.Failure(violation: error, requestID: envelope.requestID)
    }
}

func read(
    _ message: String
) throws(FrameDecoder.Failure) -> (definition: FrameDefinition, payload: Payload, requestID: String?) {
    try read(Array(message.utf8))
}

/// The field that is to blame; nil if the message is valid.
func blamed(_ message: String) -> String? {
    do throws(FrameDecoder.Failure) {
        _ = try read(message)
        return nil
    } catch {
        return error.violation.field
    }
}

/// A base64 string of so many bytes, as JSON.
func base64(_ count: Int) -> String { "\"" + text(Base64.encode([UInt8](repeating: 0x5A, count: count))) + "\"" }

/// A string of so many characters, as JSON.
func characters(_ count: Int, _ character: String = "x") -> String {
    "\"" + String(repeating: character, count: count) + "\""
}
