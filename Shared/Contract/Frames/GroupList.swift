/// "Which groups am I in?" Answered by `groups` (contract §6).
package enum GroupList {
    package static let definition: FrameDefinition = FrameDefinition(
        "group_list", about: "Asks for all groups that the caller is a member of.", route: .service(.router),
        rate: Rates.groups, fields: CommonFields.privileged, samples: [CommonFields.sample()])
}
