import Foundation
import PlainSource
import Testing
import WebPages

/// The files of the pages, as they stand in the binary.
@Suite struct WebAssetTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Clients/Web/Assets")

    @Test func everyFileOfTheFolderIsServed() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(Set(names.filter { !$0.hasSuffix(".html") }) == Set(WebAssets.files.keys))
        for (name, file) in WebAssets.files {
            let source = [UInt8](try Data(contentsOf: Self.folder.appending(path: name)))
            let isScript = name.hasSuffix(".js")
            let served =
                isScript ? PlainSource.bare(source) : name == "page.css" ? PlainSource.bareStyle(source) : source
            #expect(file.bytes == served, "\(name)")
        }
    }

    @Test func scriptsImportEachOtherByNameAlone() throws {
        for (name, file) in WebAssets.files where name.hasSuffix(".js") {
            let text = String(decoding: file.bytes, as: UTF8.self)
            for match in text.matches(of: #/(?:from|import\() ?"([^"]+)"/#) {
                let path = String(match.1)
                #expect(path.hasPrefix("./") && WebAssets.files[String(path.dropFirst(2))] != nil, "\(name): \(path)")
            }
        }
    }

    /// `PlainSource` may not touch text over several lines. Trusted types would refuse markup from text.
    @Test func noTextGoesOverSeveralLinesAndNoneBecomesMarkup() throws {
        for name in WebAssets.files.keys where name.hasSuffix(".js") {
            let source = try String(contentsOf: Self.folder.appending(path: name), encoding: .utf8)
            for line in source.split(separator: "\n") {
                #expect(line.count { $0 == "`" }.isMultiple(of: 2), "\(name): \(line)")
            }
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
                #expect(!source.contains(word), "\(name): \(word)")
            }
        }
    }

    /// Contract §16.1: a page with all that it loads.
    @Test(arguments: [("listen", WebAssets.listen), ("transcript", WebAssets.transcript), ("join", WebAssets.join)])
    func pagesAreSmall(script: String, page: WebAsset) throws {
        var names: Set<String> = ["page.css", "icon.svg", WebAssets.start]
        var unread = ["\(script).js"]
        while let name = unread.popLast() {
            guard names.insert(name).inserted else { continue }
            let text = String(decoding: try #require(WebAssets.files[name], "\(name)").bytes, as: UTF8.self)
            unread += text.matches(of: #/from ?"\.\/([a-z]+\.js)"/#).map { String($0.1) }
        }
        #expect(names.count > 8 && names.isStrictSubset(of: WebAssets.files.keys))
        let bytes = names.reduce(page.bytes.count) { $0 + (WebAssets.files[$1]?.bytes.count ?? 0) }
        #expect(bytes <= 80_000, "\(bytes) bytes")
    }

    /// The pages of links ask nothing, so they load nothing that could.
    @Test(arguments: [WebAssets.add, WebAssets.invite]) func pagesOfLinksAskNothing(page: WebAsset) throws {
        let scripts = try ["door.js", "qr.js"].map { try #require(WebAssets.files[$0]).bytes }
        for script in scripts.map({ String(decoding: $0, as: UTF8.self) }) {
            for word in ["fetch(", "XMLHttpRequest", "sendBeacon", "WebSocket", "EventSource", "new Image"] {
                #expect(!script.contains(word), "\(word)")
            }
            #expect(script.matches(of: #/from ?"\.\/([a-z]+\.js)"/#).allSatisfy { $0.1 == "qr.js" })
        }
        let loaded = ["page.css", "icon.svg"].compactMap { WebAssets.files[$0]?.bytes } + scripts + [page.bytes]
        #expect(loaded.reduce(0) { $0 + $1.count } <= 20_000)
    }

    @Test func pagesNameTheirFilesUnderTheHash() {
        #expect(WebAssets.hash.wholeMatch(of: #/[0-9a-f]{32}/#) != nil)
        for page in [
            WebAssets.join, WebAssets.listen, WebAssets.transcript, WebAssets.missing, WebAssets.add, WebAssets.invite,
        ] {
            let text = String(decoding: page.bytes, as: UTF8.self)
            let files = text.matches(of: #/(?:src|href)="\/web\/([0-9a-f]+)\/([^"]+)"/#)
            #expect(!files.isEmpty && !text.contains("{hash}"))
            for file in files {
                #expect(file.1 == WebAssets.hash && WebAssets.files[String(file.2)] != nil, "\(file.0)")
            }
            // The pages' policy would load neither.
            #expect(!text.contains("style=") && text.firstMatch(of: #/<script(?![^>]* src=)/#) == nil)
        }
    }
}

@Suite struct PlainSourceTests {
    @Test(arguments: [
        ("  a(); // stays\n\n  // goes\nb();", "a(); // stays\nb();"),
        ("/** goes */\n  /**\n   * goes\n   */\n  c\n", "c"),
        (
            "const a = { b: [c, d] };\nif (a) return \"x = y\" + 'z : z';",
            "const a={b:[c,d]};if(a)return\"x = y\"+'z : z';"
        ),
        ("f((a) => b, async (c) => d, (e, g) => h)", "f(a=>b,async(c)=>d,(e,g)=>h)"),
        ("a - -b\n(c)", "a - -b\n(c)"),
        ("x = a / b; // c, \n/d {2}/", "x = a / b; // c, \n/d {2}/"),
        ("const a = \"\\\" b = c\", d = 1", "const a=\"\\\" b = c\",d=1"),
        (
            "#name = 1;\nget #other() {\nreturn this.#name;\n}\nfind(\"#name\");",
            "#a=1;get #b(){return this.#a}find(\"#name\");"
        ),
        ("`a = ${ b }` + [\n`${`c = d`}`, e = f\n]", "`a = ${ b }`+[`${`c = d`}`, e = f\n]"),
        ("x = 1 /* stays */\n\"//stays\"", "x = 1 /* stays */\n\"//stays\""),
        ("", ""),
    ])
    func commentsAndSpacesStayInTheSources(source: String, bare: String) {
        #expect(String(decoding: PlainSource.bare(Array(source.utf8)), as: UTF8.self) == bare)
    }
    @Test func stylesKeepTheSpacesThatMeanSomething() {
        let source = "/* goes */\nmain :is(a, b) > p {\n    margin: 0 calc(1px + 2px);\n    content: \" { ✓\";\n}\n"
        let bare = "main :is(a,b) > p{margin:0 calc(1px + 2px);content:\" { ✓\"}"
        #expect(String(decoding: PlainSource.bareStyle(Array(source.utf8)), as: UTF8.self) == bare)
    }
}
