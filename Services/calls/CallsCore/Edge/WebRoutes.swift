import Contract
import HTTPAccess
package import Hummingbird
import WebPages

/// The pages in a browser (contract §16.1). Every visitor gets the same page: these routes read no identity, count and store
/// nothing, and do not reveal whether a conversation exists.
package struct WebRoutes: Sendable {
    private static let tag = "\"\(WebAssets.hash)\""

    package init() {}

    package func add(to router: Router<some RequestContext>) {
        for path in ["listen", "listen/**"] {
            self.add(path, to: router) { self.listenPage($0) }
        }
        for path in ["transcript", "transcript/**"] {
            self.add(path, to: router) { self.transcriptPage($0) }
        }
        // People who were told a code type the server's name alone.
        for path in ["", "join", "join/**"] {
            self.add(path, to: router) { self.joinPage($0) }
        }
        for (path, page) in [("add", WebAssets.add), ("invite", WebAssets.invite)] {
            self.add(path, to: router) { self.page(page, to: $0) }
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
        // "/", "/join" or "/join/{id}".
        let parts = Self.partsBehindPage(of: request)
        guard parts.count <= 1, parts.first.map({ UUIDText($0)?.upperCase == 0 }) ?? true else {
            return self.page(WebAssets.missing, to: request, status: .notFound)
        }
        return self.page(WebAssets.join, to: request)
    }

    private func transcriptPage(_ request: Request) -> Response {
        // "/transcript/{shareId}".
        let parts = Self.partsBehindPage(of: request)
        guard parts.count == 1, let id = UUIDText(parts[0]), id.upperCase == 0 else {
            return self.page(WebAssets.missing, to: request, status: .notFound)
        }
        return self.page(WebAssets.transcript, to: request)
    }

    /// The parts of the path after the page's own name. They may be empty.
    private static func partsBehindPage(of request: Request) -> [String] {
        request.uri.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2).map(String.init)
    }

    private static func isName(_ text: String) -> Bool {
        (PercentCoding.decode(text.utf8) ?? text).count <= PageOperations.nameCharactersMax
    }

    private func page(
        _ page: WebAsset, to request: Request, status: HTTPResponse.Status = .ok
    ) -> Response {
        var headers = HTTPFields.binding(type: page.type, cacheControl: "no-cache", policy: WebAssets.policy)
        headers[.init("Permissions-Policy")!] = page.permissions
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

    /// While processes of two releases answer, a page may ask one release for files of the other. A page must not mix files of
    /// both, so each release serves only its own. Then `start.js` finds files missing, and loads the page again.
    private func file(_ name: String, under hash: String) -> Response {
        let isOurs = hash == WebAssets.hash
        guard isOurs || name == WebAssets.start, let file = WebAssets.files[name] else {
            return HTTPRefusal(.notFound, "this release has no such file").answer
        }
        let cacheControl = isOurs ? "public, max-age=31536000, immutable" : "no-store"
        let headers = HTTPFields.binding(type: file.type, cacheControl: cacheControl, policy: WebAssets.policy)
        return Response(status: .ok, headers: headers, body: file.body)
    }
}

extension WebAsset {
    fileprivate var body: ResponseBody { ResponseBody(byteBuffer: ByteBuffer(bytes: self.bytes)) }
}
