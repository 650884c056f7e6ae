package import Hummingbird

package func makeAttachments() -> Attachments {
    Attachments()
}

/// The public HTTP of the attachments service: no routes yet, so every request is answered NOT_FOUND.
package struct Attachments: Sendable {
    package func addRoutes(to router: Router<BasicRequestContext>) {}
}
