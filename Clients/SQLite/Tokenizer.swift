import CSQLite
import Glibc

/// Hears of a word: the context, flags, the word, its bytes, and where it begins and ends in the text.
package typealias FTS5TokenCallback =
    @convention(c) (UnsafeMutableRawPointer?, CInt, UnsafePointer<CChar>?, CInt, CInt, CInt) -> CInt

/// Why a text is broken into words.
package struct FTS5Tokenization: OptionSet, Sendable {
    package let rawValue: CInt
    package init(rawValue: CInt) { self.rawValue = rawValue }
    package static let query = FTS5Tokenization(rawValue: FTS5_TOKENIZE_QUERY)
}

package struct FTS5TokenFlags: OptionSet, Sendable {
    package let rawValue: CInt
    package init(rawValue: CInt) { self.rawValue = rawValue }
    /// The word stands at the place of the one before.
    package static let colocated = FTS5TokenFlags(rawValue: FTS5_TOKEN_COLOCATED)
}

/// Breaks texts into words (https://www.sqlite.org/fts5.html#custom_tokenizers).
package protocol FTS5Tokenizer: AnyObject {
    /// - Returns: a code of SQLite. That of the callback, if it was not OK.
    func tokenize(
        context: UnsafeMutableRawPointer?, tokenization: FTS5Tokenization, pText: UnsafePointer<CChar>?, nText: CInt,
        tokenCallback: @escaping FTS5TokenCallback
    ) -> CInt
}

/// A tokenizer of ours, which tables name.
package protocol FTS5CustomTokenizer: FTS5Tokenizer {
    static var name: String { get }
    init(database: Database) throws
}

/// SQLite's context for making a tokenizer.
private final class TokenizerMaker {
    /// It closes before the maker goes.
    unowned let database: Database
    let make: (Database) throws -> any FTS5CustomTokenizer

    init(_ database: Database, make: @escaping (Database) throws -> any FTS5CustomTokenizer) {
        self.database = database
        self.make = make
    }
}

/// SQLite's reference to a tokenizer.
private final class KeptTokenizer {
    let tokenizer: any FTS5CustomTokenizer
    init(_ tokenizer: any FTS5CustomTokenizer) { self.tokenizer = tokenizer }
}

extension Database {
    /// Gives the connection a tokenizer, for tables that name it.
    package func add(tokenizer: (some FTS5CustomTokenizer).Type) throws {
        let api = try self.fts5
        let maker = Unmanaged.passRetained(TokenizerMaker(self) { try tokenizer.init(database: $0) })
        var functions = fts5_tokenizer(
            xCreate: { maker, _, _, made in
                guard let maker, let made else { return SQLITE_ERROR }
                let known = Unmanaged<TokenizerMaker>.fromOpaque(maker).takeUnretainedValue()
                guard let tokenizer = try? known.make(known.database) else { return SQLITE_ERROR }
                made.pointee = OpaquePointer(Unmanaged.passRetained(KeptTokenizer(tokenizer)).toOpaque())
                return SQLITE_OK
            },
            xDelete: { kept in
                if let kept { Unmanaged<KeptTokenizer>.fromOpaque(UnsafeRawPointer(kept)).release() }
            },
            xTokenize: { kept, context, flags, text, bytes, callback in
                guard let kept, let callback else { return SQLITE_ERROR }
                let known = Unmanaged<KeptTokenizer>.fromOpaque(UnsafeRawPointer(kept)).takeUnretainedValue()
                return known.tokenizer.tokenize(
                    context: context, tokenization: FTS5Tokenization(rawValue: flags), pText: text, nText: bytes,
                    tokenCallback: callback)
            })
        // SQLite calls the last function whatever comes.
        let code = api.pointee.xCreateTokenizer(
            api, tokenizer.name, maker.toOpaque(), &functions,
            { maker in if let maker { Unmanaged<TokenizerMaker>.fromOpaque(maker).release() } })
        guard code == SQLITE_OK else { throw self.error(ResultCode(rawValue: code)) }
    }

    /// One of SQLite's own.
    package func makeTokenizer(_ name: String, arguments: [String]) throws -> any FTS5Tokenizer {
        try BuiltInTokenizer(name, arguments, api: self.fts5)
    }

    private var fts5: UnsafeMutablePointer<fts5_api> {
        get throws {
            guard let api = csqlite_fts5(try self.handle) else { throw DatabaseError(.misuse, "SQLite has no FTS5") }
            return api
        }
    }
}

private final class BuiltInTokenizer: FTS5Tokenizer {
    private let functions: fts5_tokenizer
    private let handle: OpaquePointer

    init(_ name: String, _ arguments: [String], api: UnsafeMutablePointer<fts5_api>) throws {
        var functions = fts5_tokenizer()
        var context: UnsafeMutableRawPointer?
        var handle: OpaquePointer?
        var code = api.pointee.xFindTokenizer(api, name, &context, &functions)
        if code == SQLITE_OK {
            let texts = arguments.map { strdup($0) }
            defer { for text in texts { free(text) } }
            var pointers = texts.map { UnsafePointer<CChar>($0) }
            code = functions.xCreate(context, &pointers, CInt(pointers.count), &handle)
        }
        guard code == SQLITE_OK, let handle else {
            throw DatabaseError(ResultCode(rawValue: code), "the tokenizer \(name) was not made")
        }
        self.functions = functions
        self.handle = handle
    }

    deinit { self.functions.xDelete(self.handle) }

    func tokenize(
        context: UnsafeMutableRawPointer?, tokenization: FTS5Tokenization, pText: UnsafePointer<CChar>?, nText: CInt,
        tokenCallback: @escaping FTS5TokenCallback
    ) -> CInt {
        self.functions.xTokenize(self.handle, context, tokenization.rawValue, pText, nText, tokenCallback)
    }
}
