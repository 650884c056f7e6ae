/// Pages for browsers (contract §16.1).
package enum PageOperations {
    /// Length of a name behind a conversation's id. The name is for people; only its length is checked.
    package static let nameCharactersMax = 200
    /// The hash of a release's pages, in bytes. It stands in addresses in hexadecimal digits.
    package static let hashBytes = 16

    private static let unchanged = "`If-None-Match` names the page's `ETag`."
    private static let tag = (name: "ETag", about: "Changes with the page and its files.")
    private static let about = """
        The listener's page. It is the same for every well-formed id: the id's secret stands in the fragment, which no browser \
        sends, and the page asks `lookAtConversation` itself.
        """
    private static let noPage = HTTPOperation.Failure(.notFound, "The id is malformed.")

    package static let all = [
        HTTPOperation(
            "getListenPage", .get, "/listen/{conversationId}", about: Self.about, access: .anybody,
            parameters: [.path("conversationId", .lowerCaseUUID)], success: .page, unchangedWhen: Self.unchanged,
            headers: [Self.tag], failures: [Self.noPage]),
        HTTPOperation(
            "getNamedListenPage", .get, "/listen/{conversationId}/{name}", about: Self.about, access: .anybody,
            parameters: [
                .path("conversationId", .lowerCaseUUID),
                .path("name", .text(1...Self.nameCharactersMax), about: "For people who read links."),
            ], success: .page, unchangedWhen: Self.unchanged, headers: [Self.tag], failures: [Self.noPage]),
        HTTPOperation(
            "getTranscriptPage", .get, "/transcript/{shareId}",
            about: """
                The page of a shared transcript. It is the same for every well-formed id: the share's secret stands in the \
                fragment, and the page asks `readShare` itself.
                """,
            access: .anybody, parameters: [.path("shareId", .lowerCaseUUID)], success: .page,
            unchangedWhen: Self.unchanged, headers: [Self.tag], failures: [Self.noPage]),
        HTTPOperation(
            "getJoinPage", .get, "/join",
            about: """
                The page of rooms: come in by a code, or start a room. With `?relay` in the address it talks over relays alone, \
                so that the others do not learn the reader's network address.
                """,
            access: .anybody, success: .page, unchangedWhen: Self.unchanged, headers: [Self.tag], failures: []),
        HTTPOperation(
            "getRoomPage", .get, "/join/{roomId}",
            about: """
                The page of rooms, for a room's link. It is the same for every well-formed id; the secret is in the fragment.
                """,
            access: .anybody, parameters: [.path("roomId", .lowerCaseUUID)], success: .page,
            unchangedWhen: Self.unchanged, headers: [Self.tag], failures: [Self.noPage]),
        HTTPOperation(
            "getAddPage", .get, "/add",
            about: """
                The page of a link to a person (`https://{host}/add#…`). The person stands in the fragment, so the server does not \
                learn who is looked for. The page asks nothing.
                """,
            access: .anybody, success: .page, unchangedWhen: Self.unchanged, headers: [Self.tag], failures: []),
        HTTPOperation(
            "getInvitePage", .get, "/invite",
            about: """
                The page of an invitation (`https://{host}/invite#…`). The token stands in the fragment: opening the page uses \
                nothing up. The page asks nothing.
                """,
            access: .anybody, success: .page, unchangedWhen: Self.unchanged, headers: [Self.tag], failures: []),
        HTTPOperation(
            "getPageFile", .get, "/web/{hash}/{file}",
            about: """
                A script, style or icon of the pages. `hash` is that of the release: its files never change. Under the hash of \
                another release there is `start.js` alone, which loads the page again.
                """,
            access: .anybody,
            parameters: [
                .path(
                    "hash", .text((2 * Self.hashBytes)...(2 * Self.hashBytes)), about: "Hexadecimal, as pages name it."),
                .path("file", .text(1...64)),
            ], success: .text(mediaType: "text/javascript"),
            headers: [("Cache-Control", "`public, max-age=31536000, immutable`; under another hash `no-store`.")],
            failures: [.init(.notFound, "This release has no such file.")]),
    ]
}
