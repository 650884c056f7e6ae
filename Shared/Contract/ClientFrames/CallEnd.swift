/// "It is over." From either side (contract §7).
package struct CallEnd: SignedCallFrame {
    package let call: SignedCall

    package static let reasons = ["ended", "declined", "busy", "timeout", "failed", "cancelled"]

    package static let definition: FrameDefinition = FrameDefinition(
        "call_end", about: "Ends a call, or declines it. Forwarded to the other side.", route: .service(.calls),
        rate: Rates.calls,
        fields: SignedCall.fields + [SignedCall.reason.field],
        rules: SignedCall.rules, refusals: SignedCall.refusals, samples: [SignedCall.sample(#","reason":"declined""#)])

    package init(_ call: SignedCall) { self.call = call }
}
