import AuthTestKit

extension HTTPBench {
    /// Writes a contact backup.
    func put(_ body: String, token: String, ifMatch: String? = nil) async throws -> Answer {
        try await self.send(.put, "/backup/contacts", authorization: "Bearer \(token)", ifMatch: ifMatch, body: body)
    }
}
