package import HTTPAccess
package import Hummingbird

// The pages for whoever is not signed in, or is refused.
extension ConsolePage {
    package static func login(problem: String?, status: HTTPResponse.Status = .ok) -> ConsolePage {
        ConsolePage(
            nil, title: "Sign in", status: status,
            body: """
                <section class="card door">
                <img src="/console/icon.svg" alt="" width="48" height="48">
                <h1>Whisper console</h1>
                <p>For operators. Everything asked and done here is recorded.</p>
                \(problem.map { "<p class=\"problem\" role=\"alert\">\($0)</p>" } as HTML?)
                <form method="post" action="/console/login">
                <label for="token">Admin or viewer token</label>
                <input id="token" name="token" type="password" required autofocus autocomplete="current-password" spellcheck="false">
                <button id="login" class="main">Sign in</button>
                </form>
                <p class="small">Without HTTPS, browsers keep the session only if this server is called localhost or 127.0.0.1.</p>
                </section>
                """)
    }

    package static func refusal(_ refusal: HTTPRefusal) -> ConsolePage {
        let title: HTML =
            switch refusal.code {
            case .forbidden: "Not allowed"
            case .notFound: "Not found"
            case .rateLimited: "Too many requests"
            case .internalError: "Something went wrong"
            default: "Not understood"
            }
        return ConsolePage(
            nil, title: title, status: refusal.status,
            body: """
                <section class="card door">
                <h1>\(title)</h1>
                <p class="problem" role="alert">\(refusal.message)</p>
                <p><a href="/console">To the overview</a></p>
                </section>
                """)
    }
}

extension HTTPRefusal {
    static let unreadableForm = HTTPRefusal(.invalidPayload, "the form is too long or incomplete")
    static let foreignForm = HTTPRefusal(.forbidden, "this form belongs to another session; reload the page")
}
