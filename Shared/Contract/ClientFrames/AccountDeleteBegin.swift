/// "I want to leave for good." Answered by `account_delete_challenge` (contract §20.2).
package struct AccountDeleteBegin: BareFrame {
    package static let definition: FrameDefinition = FrameDefinition(
        "account_delete_begin",
        about: "Asks for the challenge of an erasure. A new challenge takes the place of the earlier one.",
        route: .service(.auth), rate: Rates.account, fields: CommonFields.privileged,
        samples: [CommonFields.sample()])

    package init() {}
}
