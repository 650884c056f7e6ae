package import ClusterContract
package import Contract
import HTTPAccess

extension ConsolePage {
    package static func registration(
        _ registration: OperatorService.Registration, _ entries: ArraySlice<DoorTable.Invitation>,
        classes: RateClasses = .usual, next: Cursor?, done: CompletedChange?, of session: ConsoleSession,
        at now: Timestamp
    ) -> ConsolePage {
        let mayAct = session.role >= .operator
        return ConsolePage(
            .registration, title: "Registration",
            body: """
                \(self.heading("Registration", "Whether somebody new may come in. Whoever has an identity logs in, and restores it with the words, whatever is chosen here."))
                \(self.confirmation(of: done))
                <section class="card" id="registration"><h2>\(self.title(of: registration.mode))</h2>
                <p class="small">\(registration.isDefault ? "As the setting REGISTRATION says." : registration.changedAt.map { "Chosen \(self.distance(of: $0, at: now))." } ?? "Chosen by an operator.")</p>
                \(mayAct ? self.choice(registration, of: session) : nil)
                </section>
                \(mayAct ? self.newInvitation(classes, of: session) : nil)
                \(entries.isEmpty ? self.empty("There are no invitations.") : self.list(entries, of: session, at: now))
                \(self.older(next) { URLEncodedForm.address("/console/registration", [("cursor", $0)]) })
                """)
    }

    /// Shows a token, once. Each field is selected as a whole when the keyboard comes to it.
    /// - Parameter links: nil if the operator has not said the server's address.
    package static func invited(
        _ invitation: OperatorService.NewInvitation, _ links: InvitationLinks?, uses: Int64
    ) -> ConsolePage {
        ConsolePage(
            .registration, title: "Invitation",
            body: """
                \(self.heading("Invitation", "For \(uses == 1 ? "one person" : "\(uses) people" as HTML), until \(Wording.time(invitation.expiresAt)) UTC. It is shown here once: the server keeps only a digest of it."))
                <section class="card change"><p>Give one of these to the new person, over a channel that you trust.</p>
                \(links.map { self.field("web", "Link for a browser; its page draws it as a QR code", $0.web) })
                \(links.map { self.field("app", "Link for an app, or for <code>whisper init --invitation LINK</code>", $0.app) })
                \(self.field("token", "Token, for <code>whisper init --server ADDRESS --invitation TOKEN</code>", invitation.token.text))</section>
                <p class="more"><a href="/console/registration">Back to registration</a></p>
                """)
    }

    private static func field(_ id: HTML, _ label: HTML, _ value: String) -> HTML {
        """
        <label for="\(id)">\(label)</label>
        <input id="\(id)" class="id" readonly value="\(value)">
        """
    }

    private static func title(of mode: RegistrationMode) -> HTML {
        switch mode {
        case .open: "Anybody may register"
        case .invited: "Somebody new needs an invitation"
        case .closed: "Nobody new may register"
        }
    }

    private static func choice(_ registration: OperatorService.Registration, of session: ConsoleSession) -> HTML {
        let others = RegistrationMode.allCases.filter { registration.isDefault || $0 != registration.mode }
        let options = others.map { "<option value=\"\($0.rawValue)\">\(self.title(of: $0))</option>" as HTML }
        let usual: HTML? = registration.isDefault ? nil : "<option value=\"default\">As the setting says</option>"
        return """
            <form method="post" action="/console/registration" class="actions">\(self.formToken(of: session))
            <select name="mode" aria-label="From now on">\(options)\(usual)</select>
            <input name="reason" required maxlength="\(Limits.banReasonCharacters.upperBound)" placeholder="Reason" aria-label="Reason">
            <button>Choose</button></form>
            """
    }

    private static func newInvitation(_ classes: RateClasses, of session: ConsoleSession) -> HTML {
        let options = classes.all.map(\.name.description).map { "<option value=\"\($0)\">\($0)</option>" as HTML }
        return """
            <form method="post" action="/console/invitations" class="card actions" id="invite">
            \(self.formToken(of: session))
            <label>People <input name="uses" type="number" required min="1" max="\(Limits.invitationUses.upperBound)" value="1"></label>
            <label>Days <input name="days" type="number" required min="1" max="90" value="7"></label>
            <input name="label" maxlength="\(Limits.invitationLabelCharacters.upperBound)" placeholder="For whom or what (optional)" aria-label="For whom or what">
            <input name="host" maxlength="\(InvitationLinks.hostCharactersMax)" placeholder="Server's address, for links (optional)" aria-label="The server's address for people, as chat.example.org" autocomplete="on" spellcheck="false">
            <select name="rateClass" aria-label="Rate class of those who come in"><option value="">Usual rates</option>\(options)</select>
            <button>Invite</button>
            </form>
            """
    }

    private static func list(
        _ entries: ArraySlice<DoorTable.Invitation>, of session: ConsoleSession, at now: Timestamp
    ) -> HTML {
        let rows = entries.map { entry -> HTML in
            let isOpen = entry.revokedAt == nil && entry.usesLeft > 0 && entry.expiresAt > now
            return """
                <tr data-invitation="\(entry.id)"><td data-label="For" dir="auto">\(entry.label ?? (entry.isByPerson ? "made by a person" : "–"))\(entry.rateClass.map { " (\($0))" as HTML })</td>
                <td data-label="Used">\(entry.usesMax - entry.usesLeft) of \(entry.usesMax)</td>
                <td data-label="Made">\(self.distance(of: entry.createdAt, at: now))</td>
                <td data-label="Ends">\(entry.revokedAt != nil ? "revoked" : self.distance(of: entry.expiresAt, at: now))</td>
                \(session.role >= .operator ? (isOpen ? self.revoking(entry.id, of: session) : "<td></td>") : nil)</tr>
                """
        }
        return """
            <table class="card"><thead><tr><th>For</th><th>Used</th><th>Made</th><th>Ends</th>\(session.role >= .operator ? "<th><span class=\"hidden\">Revoke</span></th>" : "" as HTML)</tr></thead>
            <tbody>\(rows)</tbody></table>
            """
    }

    private static func revoking(_ id: UUIDText, of session: ConsoleSession) -> HTML {
        """
        <td class="act"><form method="post" action="/console/invitations/\(id)/revoke" class="actions">\(self.formToken(of: session))
        <button>Revoke</button></form></td>
        """
    }
}
