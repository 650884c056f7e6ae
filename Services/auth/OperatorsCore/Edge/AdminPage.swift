package import Contract
package import HTTPAccess

/// Which part of a list is asked for: the newest entries, or those before a cursor.
package struct AdminPage: Sendable {
    package var cursor: Cursor?
    package var limit: Int

    /// One more than is shown: whether there is more shows in it.
    var lookup: Int { self.limit + 1 }

    package init(cursor: Cursor? = nil, limit: Int) {
        self.cursor = cursor
        self.limit = limit
    }

    /// - Parameters:
    ///   - cursor: as it was given out; nil for the newest.
    ///   - limit: nil for `limitDefault`.
    package init(
        cursor: (some StringProtocol)?, limit: (some StringProtocol)?, limitMax: Int, limitDefault: Int
    ) throws(HTTPRefusal) {
        self.limit = limitDefault
        if let limit {
            guard let limit = Int(limit), (1...limitMax).contains(limit) else { throw .badParameter("limit") }
            self.limit = limit
        }
        if let cursor {
            guard let cursor = Cursor(String(cursor)) else { throw .badParameter("cursor") }
            self.cursor = cursor
        }
    }

    /// Where the next part begins.
    /// - Parameter entries: what `lookup` brought.
    package func next<Entry>(after entries: [Entry], _ number: (Entry) -> Int64) -> Cursor? {
        guard entries.count > self.limit, let last = entries.prefix(self.limit).last else { return nil }
        return Cursor(after: number(last))
    }
}
