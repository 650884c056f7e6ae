package import ClusterContract
import Contract
import HTTPAccess

extension ConsolePage {
    package static func rateClasses(_ classes: RateClasses, _ grants: [RateClassGrant]) -> ConsolePage {
        let entries = RateClassMembers(classes, grants).all
        return ConsolePage(
            .rateClasses, title: "Rate classes",
            body: """
                \(self.heading("Rate classes", "A class lets a program send more often: uses within the period of a rate, and how many at once. The setting RATE_CLASSES names them; an identity gets one under <a href=\"/console/people\">People</a>, or by its invitation."))
                \(entries.isEmpty ? self.empty("There are no rate classes.") : nil)
                <div class="stack">\(entries.map { self.rateClass($0) })</div>
                """)
    }

    private static func rateClass(_ entry: RateClassMembers.Entry) -> HTML {
        let rates = entry.rates.map { rate, change -> HTML in
            "<div><dt>\(rate)</dt><dd>\(change.uses)/\(change.burst)</dd></div>"
        }
        let people = entry.identities.map { id -> HTML in "<li>\(self.person(id))</li>" }
        return """
            <section class="card change" data-class="\(entry.name.description)"><h2>\(entry.name.description)</h2>
            \(entry.isKnown ? "<dl class=\"facts\">\(rates)</dl>" : "<p>The settings do not have this class: it counts as none.</p>" as HTML)
            \(people.isEmpty ? "<p class=\"small\">Nobody has it.</p>" : "<ul class=\"news\">\(people)</ul>" as HTML)</section>
            """
    }

    private static func person(_ id: WhisperID) -> HTML {
        "<a class=\"id\" href=\"\(URLEncodedForm.address("/console/people", [("id", "\(id)")]))\">\(id)</a>"
    }
}
