import Contract
import HTTPAccess
package import Hummingbird

/// The pages in a browser (contract §16.1). They are the same for everybody: who asks is not looked at, nothing is counted or
/// stored, and whether a conversation exists stays unsaid.
package struct WebRoutes: Sendable {
    /// As contract §16.1 has it.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
        form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'
        """
    private static let noPermissions = "camera=(), microphone=(), geolocation=()"
    /// Of the page of rooms. A button on it asks for both.
    private static let conversationPermissions = "camera=(self), microphone=(self), geolocation=()"
    private static let tag = "\"\(WebAssets.hash)\""

    package init() {}

    package func add(to router: Router<some RequestContext>) {
        for path in ["listen", "listen/**"] {
            self.add(path, to: router) { self.listenPage($0) }
        }
        for path in ["transcript", "transcript/**"] {
            self.add(path, to: router) { self.transcriptPage($0) }
        }
        for path in ["join", "join/**"] {
            self.add(path, to: router) { self.joinPage($0) }
        }
        self.add("web/{hash}/{file}", to: router) { request in
            let parts = request.uri.path.split(separator: "/")
            return self.file(String(parts[2]), under: String(parts[1]))
        }
    }

    /// Answers GET and HEAD, and refuses other methods.
    private func add(
        _ path: String, to router: Router<some RequestContext>, answer: @escaping @Sendable (Request) -> Response
    ) {
        let path = RouterPath(path)
        router.get(path) { request, _ in answer(request) }
        router.head(path) { request, _ in answer(request).createHeadResponse() }
        for method in [HTTPRequest.Method.post, .put, .delete, .patch, .options] {
            router.on(path, method: method) { _, _ in
                var response = HTTPRefusal(.notFound, status: .methodNotAllowed, "pages can only be read").answer
                response.headers[.allow] = "GET, HEAD"
                return response
            }
        }
    }

    // MARK: Pages

    private func listenPage(_ request: Request) -> Response {
        // "/listen/{id}" or "/listen/{id}/{name}", with an empty part in front.
        let parts = Self.partsBehindPage(of: request)
        guard let id = parts.first, ConversationID(id) != nil, parts.count <= 2,
            parts.count < 2 || Self.isName(parts[1])
        else { return self.page(WebAssets.missing, to: request, status: .notFound) }
        return self.page(WebAssets.listen, to: request)
    }

    private func joinPage(_ request: Request) -> Response {
        // "/join" or "/join/{id}".
        let parts = Self.partsBehindPage(of: request)
        guard parts.count <= 1, parts.first.map({ UUIDText($0)?.upperCase == 0 }) ?? true else {
            return self.page(WebAssets.missing, to: request, status: .notFound)
        }
        return self.page(WebAssets.join, to: request, permissions: Self.conversationPermissions)
    }

    private func transcriptPage(_ request: Request) -> Response {
        // "/transcript/{shareId}".
        let parts = Self.partsBehindPage(of: request)
        guard parts.count == 1, let id = UUIDText(parts[0]), id.upperCase == 0 else {
            return self.page(WebAssets.missing, to: request, status: .notFound)
        }
        return self.page(WebAssets.transcript, to: request)
    }

    /// What stands in the path behind the page's own name; there may be empty parts.
    private static func partsBehindPage(of request: Request) -> [String] {
        request.uri.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2).map(String.init)
    }

    private static func isName(_ text: String) -> Bool {
        (PercentCoding.decode(text.utf8) ?? text).count <= PageOperations.nameCharactersMax
    }

    private func page(
        _ page: WebAsset, to request: Request, status: HTTPResponse.Status = .ok,
        permissions: String = Self.noPermissions
    ) -> Response {
        var headers = HTTPFields.binding(type: page.type, cacheControl: "no-cache", policy: Self.policy)
        headers[.init("Permissions-Policy")!] = permissions
        guard status == .ok else { return Response(status: status, headers: headers, body: page.body) }
        headers[.eTag] = Self.tag
        guard !Self.isKnown(request.headers[.ifNoneMatch]) else {
            headers[.contentType] = nil
            return Response(status: .notModified, headers: headers)
        }
        return Response(status: .ok, headers: headers, body: page.body)
    }

    /// Whether the browser has the page already (RFC 9110, 13.1.2).
    private static func isKnown(_ header: String?) -> Bool {
        (header ?? "").split(separator: ",").contains { part in
            let tag = part.drop { $0 == " " }
            return tag == "*" || tag == Self.tag || tag == "W/" + Self.tag
        }
    }

    // MARK: Files

    /// While processes of two releases answer, a page may ask one for the files of the other. Mixed files would be worse than
    /// none, so each release has its own alone; `start.js` finds out, and loads the page again.
    private func file(_ name: String, under hash: String) -> Response {
        let isOurs = hash == WebAssets.hash
        guard isOurs || name == WebAssets.start, let file = WebAssets.files[name] else {
            return HTTPRefusal(.notFound, "this release has no such file").answer
        }
        let cacheControl = isOurs ? "public, max-age=31536000, immutable" : "no-store"
        let headers = HTTPFields.binding(type: file.type, cacheControl: cacheControl, policy: Self.policy)
        return Response(status: .ok, headers: headers, body: file.body)
    }
}

extension WebAsset {
    fileprivate var body: ResponseBody { ResponseBody(byteBuffer: ByteBuffer(bytes: self.bytes)) }
}
