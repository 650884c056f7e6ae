/// "Which conversations does the profile have?" Answered by `live_conversations` (contract §14.6).
package struct LiveList: ClientFrame {
    package let profile: UUIDText

    package static let definition = FrameDefinition(
        "live_list",
        about: "Asks for all conversations of a profile.",
        route: .share(of: "profileId"), rate: Rates.liveControl,
        fields: CommonFields.privileged + [LiveFields.profile.field],
        refusals: [(.notFound, "The caller is not a member of the profile.")],
        samples: [CommonFields.sample(LiveFields.sampleProfile)])

    package init(_ profile: UUIDText) { self.profile = profile }

    package init(_ payload: Payload) throws(Payload.Corrupted) { self.profile = try payload[LiveFields.profile] }

    package func write(to json: inout JSONWriter) { json.add(LiveFields.profile, self.profile) }
}
