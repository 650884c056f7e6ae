import Contract
import Logging

extension Logger.MetadataValue {
    /// Appends this value as JSON. Members of an object are sorted, and each text is cut at `RuntimeLimits.logValueBytesMax`.
    func append(to output: inout [UInt8]) {
        switch self {
        case .string(let text): Self.append(text, to: &output)
        case .stringConvertible(let value as Int64): output += "\(value)".utf8
        case .stringConvertible(let value as Int): output += "\(value)".utf8
        case .stringConvertible(let value as Bool): output += "\(value)".utf8
        case .stringConvertible(let value): Self.append(value.description, to: &output)
        case .array(let values): JSONWriter.append(array: values, to: &output) { $0.append(to: &$1) }
        case .dictionary(let members):
            var object = JSONWriter()
            for (key, value) in members.sorted(by: { $0.key < $1.key }) {
                object.add(key) { value.append(to: &$0) }
            }
            output += object.finished()
        }
    }

    private static func append(_ text: String, to output: inout [UInt8]) {
        JSONWriter.append(lineText: text, bytesMax: RuntimeLimits.logValueBytesMax, to: &output)
    }
}
