/// Proves the cluster: two new clients talk through the public endpoint, online and offline.
///
/// CALL SITE of the client library, to be filled in: call `say` with one line for each step that was seen to happen,
/// throw at the first that was not.
func proveConversation(endpoint: String, say: @Sendable (String) -> Void) async throws {
    say("(no conversation yet; \(endpoint) is up)")
}
