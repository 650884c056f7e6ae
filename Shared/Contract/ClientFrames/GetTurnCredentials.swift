/// "How do I reach a relay?" Answered by `turn_credentials` (contract §7).
package struct GetTurnCredentials: BareFrame {
    package static let definition: FrameDefinition = FrameDefinition(
        "get_turn_credentials",
        about: "Asks for relays, and credentials that work for 11 to 12 hours. Within an hour they are the same.",
        route: .service(.calls), rate: Rates.turnCredentials, fields: CommonFields.privileged,
        samples: [CommonFields.sample()])

    package init() {}
}
