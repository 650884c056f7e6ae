package import Hummingbird

package func makeCalls() -> Calls {
    Calls()
}

/// The public HTTP of the calls service: no routes yet, so every request is answered NOT_FOUND.
package struct Calls: Sendable {
    package func addRoutes(to router: Router<BasicRequestContext>) {}
}
