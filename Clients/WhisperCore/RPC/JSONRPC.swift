import Contract

/// JSON-RPC 2.0 for a core: a method is a verb, and its parameters are one object (`docs/core.md`). Events are notifications
/// with the method `event`.
///
///     {"jsonrpc":"2.0","id":1,"method":"chat_list","params":{"limit":20}}
///     {"jsonrpc":"2.0","id":1,"result":{"type":"chats","chats":[]}}
///     {"jsonrpc":"2.0","method":"event","params":{"seq":12,"event":{"type":"messageReceived"}}}
package enum JSONRPC {
    /// Numbers of errors. The core's own code stands in `data.code`.
    package enum Code: Int64 {
        case parseError = -32_700
        case invalidRequest = -32_600
        case methodNotFound = -32_601
        case invalidParams = -32_602
        /// The verb was done, and refused.
        case refused = -32_000
    }

    /// Bytes of a line: a command, and what is around it.
    package static let lineBytesMax = CoreLimits.commandBytesMax + 1_024
    /// Bytes of an `id`: it is repeated as it was written.
    package static let idBytesMax = 256
    /// Requests of one array.
    package static let batchMax = 64
    /// Bytes of answers to one array, after which the rest of its requests is refused.
    package static let batchAnswerBytesMax = 1_048_576

    /// Does what one line asks: a request, or an array of them in their order.
    /// - Parameter seat: of the program that asks; `nil` if it reads no events.
    /// - Returns: the answer, or `nil` if nothing in the line wants one.
    package static func answer(_ line: [UInt8], from core: Core, at seat: CoreSeat? = nil) async -> [UInt8]? {
        guard line.count <= Self.lineBytesMax else { return Self.tooLong }
        switch JSONText(line) {
        case nil: return Self.refusal(.parseError, "The line is no JSON in UTF-8.")
        case .other: return Self.refusal(.invalidRequest, "A request is one object, with each member once.")
        case .object(let members): return await Self.answer(members, from: core, at: seat)
        case .array(let requests): return await Self.answer(requests, from: core, at: seat)
        }
    }

    private static func answer(_ requests: [[UInt8]], from core: Core, at seat: CoreSeat?) async -> [UInt8]? {
        guard (1...Self.batchMax).contains(requests.count) else {
            return Self.refusal(.invalidRequest, "An array has 1 to \(Self.batchMax) requests.")
        }
        var answers: [UInt8] = []
        for request in requests {
            var answer: [UInt8]?
            if case .object(let members) = JSONText(request) {
                let isFull = answers.count >= Self.batchAnswerBytesMax
                answer = await Self.answer(members, from: core, at: seat, isFull: isFull)
            } else {
                answer = Self.refusal(.invalidRequest, "A request is one object, with each member once.")
            }
            guard let answer else { continue }
            answers.append(UInt8(ascii: answers.isEmpty ? "[" : ","))
            answers += answer
        }
        return answers.isEmpty ? nil : answers + [UInt8(ascii: "]")]
    }

    /// - Parameter isFull: the answers before this one are as long as may be. The request is not done.
    private static func answer(
        _ members: JSONMembers, from core: Core, at seat: CoreSeat?, isFull: Bool = false
    ) async -> [UInt8]? {
        guard let id = Self.id(of: members) else {
            return Self.refusal(
                .invalidRequest, "id is a string, a number or null, of at most \(Self.idBytesMax) bytes.")
        }
        guard members.string("jsonrpc") == "2.0", let method = members.string("method") else {
            return Self.refusal(.invalidRequest, "jsonrpc is \"2.0\", and method is a string.", id: id)
        }
        guard members.names.allSatisfy(["jsonrpc", "id", "method", "params"].contains) else {
            return Self.refusal(.invalidRequest, "A member is unknown.", id: id)
        }
        let answer: [UInt8]
        let parameters = members["params"] ?? Array("{}".utf8)
        if isFull {
            answer = Self.refusal(CoreError(.tooMany), id: id)
        } else if parameters.first == UInt8(ascii: "{") {
            switch await core.outcome(ofVerb: method, parameters, at: seat) {
            case .result(let result): answer = Self.written(id) { $0.add("result", json: result) }
            case .error(let error): answer = Self.refusal(error, id: id)
            }
        } else {
            answer = Self.refusal(.invalidParams, "params is one object.", id: id)
        }
        // Without an id it is a notification, which is never answered.
        return members["id"] == nil ? nil : answer
    }

    /// A line that says what an event is.
    package static func notification(of event: [UInt8]) -> [UInt8] {
        var json = JSONWriter()
        json.add("jsonrpc", "2.0")
        json.add("method", "event")
        json.add("params", json: event)
        return json.finished()
    }

    /// To a line that was not read to its end.
    package static var tooLong: [UInt8] {
        Self.refusal(.invalidRequest, "A line has at most \(Self.lineBytesMax) bytes.")
    }

    /// To a program that has no place.
    package static var isFull: [UInt8] {
        Self.refusal(CoreError(.tooMany, "Too many programs are connected."))
    }

    // MARK: Parts

    private static let null = Array("null".utf8)

    /// - Returns: `null` if there is none, and `nil` if it is no id.
    private static func id(of members: JSONMembers) -> [UInt8]? {
        guard let id = members["id"] else { return Self.null }
        guard id.count <= Self.idBytesMax, let first = id.first, !"{[tf".utf8.contains(first) else { return nil }
        return id
    }

    private static func code(of error: CoreError) -> Code {
        switch error.code {
        case .unknownVerb: .methodNotFound
        case .invalidField, .invalidCommand: .invalidParams
        default: .refused
        }
    }

    private static func written(_ id: [UInt8], _ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter()
        json.add("jsonrpc", "2.0")
        json.add("id", json: id)
        write(&json)
        return json.finished()
    }

    private static func refusal(_ code: Code, _ message: String, id: [UInt8] = Self.null) -> [UInt8] {
        Self.written(id) { json in
            json.add("error", object: code) { code, json in
                json.add("code", code.rawValue)
                json.add("message", message)
            }
        }
    }

    private static func refusal(_ error: CoreError, id: [UInt8] = Self.null) -> [UInt8] {
        Self.written(id) { json in
            json.add("error", object: error) { error, json in
                json.add("code", Self.code(of: error).rawValue)
                json.add("message", error.message)
                json.add("data", object: error) { $0.write(&$1) }
            }
        }
    }
}
