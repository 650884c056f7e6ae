/// "Yes." Only from the callee, while it rings (contract §7).
package struct CallAnswer: SignedCallFrame {
    package let call: SignedCall

    package static let definition: FrameDefinition = FrameDefinition(
        "call_answer", about: "Takes a call; `ciphertext` holds the answer. Forwarded to the caller whole.",
        route: .service(.calls), rate: Rates.calls, fields: SignedCall.fields, rules: SignedCall.rules,
        refusals: SignedCall.refusals + [(.forbidden, "It is the caller who answers.")], samples: [SignedCall.sample()])

    package init(_ call: SignedCall) { self.call = call }
}
