/// "Forget me." Answered by `guest_forgotten` and close 1000 (contract §20.2).
package struct GuestForget: ClientFrame {
    package static let definition: FrameDefinition = FrameDefinition(
        "guest_forget",
        about: """
            Erases the guest: its keys, its rows as a listener and its seats in rooms. Others see it leave. The \
            connection closes with 1000. If the answer is lost, the token is NOT_REGISTERED. A client forgets its keys when it has the \
            answer. A proof of the same keys is RATE_LIMITED until the erasure is done, and then a new guest with the same id.
            """,
        route: .service(.auth), principal: .guest, passesToken: true,
        fields: CommonFields.versions + [CommonFields.guestToken], samples: [LiveFields.guestSample()])

    package init() {}

    package init(_ payload: Payload) throws(Payload.Corrupted) {}

    package func write(to json: inout JSONWriter) {}
}
