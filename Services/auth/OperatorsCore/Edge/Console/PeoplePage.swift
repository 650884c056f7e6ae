package import ClusterContract
package import Contract
import HTTPAccess

extension ConsolePage {
    /// - Parameter asked: the id as the operator typed it.
    package static func people(
        asked: String, _ lookUp: LookUp<PersonViews.Person>, classes: RateClasses = .usual,
        done: CompletedChange? = nil,
        of session: ConsoleSession, at now: Timestamp
    ) -> ConsolePage {
        ConsolePage(
            .people, title: "People", status: lookUp.refusal?.status ?? .ok,
            body: """
                \(self.opening(asked: asked))
                \(lookUp.refusal.map { self.problem($0) })
                \(lookUp.found == nil ? nil : self.confirmation(of: done))
                \(lookUp.found.map { self.person($0, classes, of: session, at: now) })
                """)
    }

    /// Nothing is looked up: a guest has no numbers.
    package static func people(asked: String, _ guest: GuestID, of session: ConsoleSession) -> ConsolePage {
        ConsolePage(
            .people, title: "People",
            body: """
                \(self.opening(asked: asked))
                <div class="stack"><article class="card delivery" id="guest">
                <header><h2 class="parties">\("\(guest)")</h2><p>A guest: a browser with keys and without an identity.</p></header>
                </article>
                \(session.role >= .operator ? self.export(.guest(guest), of: session) : nil)
                \(session.role >= .operator ? self.erase(.guest(guest), of: session) : nil)</div>
                """)
    }

    private static func opening(asked: String) -> HTML {
        """
        \(self.heading("People", "One identity in numbers, by its Whisper ID; or a guest. There is no list of people and no search by name."))
        <form method="get" action="/console/people" class="card actions">
        <input name="id" id="id" class="id" required maxlength="40" value="\(asked)" placeholder="WSP-XXXX-XXXX-XXXX" aria-label="Whisper ID, or id of a guest" autocomplete="off" spellcheck="false">
        <button id="find" class="main">Look up</button>
        </form>
        """
    }

    private static func person(
        _ person: PersonViews.Person, _ classes: RateClasses, of session: ConsoleSession, at now: Timestamp
    ) -> HTML {
        """
        <div class="stack"><article class="card delivery" id="person">
        <header><h2 class="parties">\(self.subject(person.id))</h2>
        <p><span class="tag \(person.isBanned ? "bad" : "good" as HTML)" id="status">\(person.isBanned ? "banned" : "not banned" as HTML)</span></p></header>
        <dl class="facts"><div><dt>Registered</dt><dd>\(self.time(person.createdAt, at: now))</dd></div>
        <div><dt>Last seen</dt><dd>\(person.seenOn)</dd></div>
        <div><dt>Device</dt><dd>\(person.platform ?? "none")</dd></div>
        <div><dt>Rate class</dt><dd>\(self.rateClass(of: person, classes))</dd></div>
        <div><dt>Messages waiting</dt><dd>\(Wording.count(person.waitingMessages))</dd></div>
        <div><dt>Groups</dt><dd>\(Wording.count(person.groups))</dd></div>
        <div><dt>Files</dt><dd>\(Wording.count(person.files)), \(Wording.bytes(person.fileBytes))</dd></div></dl>
        </article>
        \(session.role >= .operator ? self.changes(of: person, classes, session) : nil)</div>
        """
    }

    private static func rateClass(of person: PersonViews.Person, _ classes: RateClasses) -> String {
        guard let name = person.rateClass else { return "none" }
        return classes.known(RateClassName(name)) == nil ? "\(name), which the settings do not have: none" : name
    }

    private static func changes(
        of person: PersonViews.Person, _ classes: RateClasses, _ session: ConsoleSession
    ) -> HTML {
        """
        \(self.export(.identity(person.id), of: session))
        \(self.rateClass(person, classes, of: session))
        \(person.isBanned ? self.unban(person.id, of: session) : self.ban(person.id, of: session))
        \(self.erase(.identity(person.id), of: session))
        """
    }

    private static func export(_ id: PrincipalID, of session: ConsoleSession) -> HTML {
        """
        <section class="card change"><h2>Export</h2>
        <p>A file with what the server holds about the person, without messages and without what others have said. The person is told nothing.</p>
        <form method="post" action="/console/exports" class="actions" id="export">\(self.formToken(of: session))
        <input type="hidden" name="whisperId" value="\("\(id)")">
        <input name="reason" required maxlength="\(Limits.banReasonCharacters.upperBound)" placeholder="Reason" aria-label="Reason for the export">
        <button>Export</button></form></section>
        """
    }

    private static func rateClass(
        _ person: PersonViews.Person, _ classes: RateClasses, of session: ConsoleSession
    ) -> HTML {
        let others = classes.all.map(\.name.description).filter { $0 != person.rateClass }
        let options = others.map { "<option value=\"\($0)\">\($0)</option>" as HTML }
        let none: HTML? = person.rateClass == nil ? nil : "<option value=\"\(RateClassName.none)\">none</option>"
        guard !others.isEmpty || none != nil else { return "" }
        return """
            <section class="card change"><h2>Rate class</h2>
            <p>A class lets a program send more often. The bounds that protect strangers stay. It counts within seconds.</p>
            <form method="post" action="/console/rate-class" class="actions" id="rate-class">\(self.formToken(of: session))
            <input type="hidden" name="whisperId" value="\(person.id)">
            <select name="rateClass" aria-label="Rate class from now on">\(options)\(none)</select>
            <input name="reason" required maxlength="\(Limits.banReasonCharacters.upperBound)" placeholder="Reason" aria-label="Reason for the rate class">
            <button>Choose</button></form></section>
            """
    }

    private static func ban(_ id: WhisperID, of session: ConsoleSession) -> HTML {
        """
        <section class="card change"><h2>Ban</h2>
        <p>Their sessions end within a second. They are told when the ban ends.</p>
        <form method="post" action="/console/ban" class="actions" id="ban">\(self.formToken(of: session))
        <input type="hidden" name="whisperId" value="\(id)">
        <input name="reason" required maxlength="\(Limits.banReasonCharacters.upperBound)" placeholder="Reason" aria-label="Reason for the ban">
        <span class="pair">\(self.terms(.day))<button class="danger">Ban</button></span></form></section>
        """
    }

    private static func unban(_ id: WhisperID, of session: ConsoleSession) -> HTML {
        """
        <section class="card change"><h2>End ban</h2>
        <p>Sessions that have not expired live again, and mail that waits is delivered.</p>
        <form method="post" action="/console/unban" class="actions" id="unban">\(self.formToken(of: session))
        <input type="hidden" name="whisperId" value="\(id)">
        <input name="reason" required maxlength="\(Limits.banReasonCharacters.upperBound)" placeholder="Reason" aria-label="Reason for ending the ban">
        <button>End ban</button></form></section>
        """
    }

    private static func erase(_ id: PrincipalID, of session: ConsoleSession) -> HTML {
        let shown = "\(id)"
        let (effect, pattern): (HTML, HTML) =
            switch id {
            case .identity:
                (
                    "This removes the identity and what the server keeps of it. Nobody can undo it, and the id and keys are never taken again.",
                    " *WSP-[A-Z2-7]{4}-[A-Z2-7]{4}-[A-Z2-7]{4} *"
                )
            case .guest:
                (
                    "This removes the guest and what the server keeps of it, also a ban. Nobody can undo it. The same browser may come again.",
                    " *gst-[0-9a-f]{32} *"
                )
            }
        return """
            <section class="card change danger"><h2>Erase for good</h2>
            <p>\(effect) The person is told nothing.</p>
            <form method="post" action="/console/erasures" class="actions" id="erase">\(self.formToken(of: session))
            <input type="hidden" name="whisperId" value="\(shown)">
            <input name="confirm" class="id" required maxlength="40" pattern="\(pattern)" placeholder="The same ID again" aria-label="The same ID again" autocomplete="off" spellcheck="false">
            <select name="sentMail" aria-label="Messages that wait for others"><option value="keep">Messages that wait are delivered</option><option value="withdraw">Messages that wait are withdrawn</option></select>
            <input name="reason" required maxlength="\(Limits.banReasonCharacters.upperBound)" placeholder="Reason, without the ID" aria-label="Reason for the erasure">
            <button class="danger">Erase for good</button></form></section>
            """
    }
}
