import LocalStack
import TestKit

/// Operators of the running cluster, through its ops origin.
enum Operators {
    struct Answer {
        var status: Int
        var body: JSON

        /// Whether it is this error, in the body that contract §1 asks for.
        func `is`(_ status: Int, _ code: String) -> Bool {
            self.status == status && self.body["error"]?.string == code && self.body["message"]?.string != nil
        }
    }

    static func get(_ path: String, token: String? = Cluster.stack.configuration.viewerToken) async throws -> Answer {
        try await self.ask("GET", path, token: token, body: "")
    }

    static func post(
        _ path: String, _ fields: Fields, token: String? = Cluster.stack.configuration.adminToken
    ) async throws -> Answer {
        try await self.ask("POST", path, token: token, body: fields.json.text)
    }

    static func ban(_ phone: Phone, until end: Int64? = nil) async throws {
        var fields: Fields = ["whisperId": phone.id, "reason": "a test"]
        fields["expiresAt"] = end
        try await self.post("/admin/ban", fields).expectSuccess()
    }

    static func unban(_ phone: Phone) async throws {
        try await self.post("/admin/unban", ["whisperId": phone.id, "reason": "a test"]).expectSuccess()
    }

    /// - Returns: what `whisper-admin` has printed.
    @discardableResult
    static func tool(_ arguments: String...) async throws -> String { try await self.tool(arguments) }

    /// The same.
    @discardableResult
    static func tool(_ arguments: [String]) async throws -> String {
        let stack = Cluster.stack
        var command = Command("\(stack.configuration.programs)/whisper-admin", arguments)
        command.environment = ["ADMIN_TOKEN": stack.configuration.adminToken, "WHISPER_OPS_URL": stack.opsURL]
        return try await command.output(name: "whisper-admin")
    }

    private static func ask(_ method: String, _ path: String, token: String?, body: String) async throws -> Answer {
        let answer = await LoopbackRequest.http(
            method, path, port: Cluster.stack.ports.ops,
            headers: token.map { ["Authorization": "Bearer \($0)"] } ?? [:], body: body)
        guard let answer else { throw Silent(path: path) }
        return Answer(status: answer.status, body: try JSON(parsing: Array(answer.body.utf8)))
    }

    struct Silent: Error {
        var path: String
    }

    struct Refused: Error {
        var answer: Answer
    }
}

extension Operators.Answer {
    func expectSuccess() throws {
        guard self.status == 200, self.body.members == ["success": .bool(true)] else {
            throw Operators.Refused(answer: self)
        }
    }
}
