/// "Let me talk to you." Answered by `call_ringing` once it has reached the callee (contract §7).
package struct CallInitiate: SignedCallFrame {
    package let call: SignedCall

    package static let definition: FrameDefinition = FrameDefinition(
        "call_initiate",
        about: """
            Calls somebody; `ciphertext` holds the offer. The callee gets `call_incoming`, at once or, woken by a push, as soon \
            as the device is back. After 45 s without an answer both get `call_end` with reason `timeout`.
            """,
        route: .service(.calls), rate: Rates.calls, fields: SignedCall.fields + [SignedCall.isVideo.field],
        rules: SignedCall.rules,
        refusals: [
            (.notFound, "The callee is unknown."),
            (.forbidden, "The callee is banned, or `callId` is that of a call from the callee."),
        ],
        samples: [SignedCall.sample(#","isVideo":false"#)])

    package init(_ call: SignedCall) { self.call = call }
}
