package import Contract
package import HTTPAccess

/// One page of a list: the newest entries, or those before a cursor.
package struct AdminPage: Sendable {
    package var cursor: Cursor?
    package var limit: Int

    /// One entry more than is shown: its presence tells that there is another page.
    var lookup: Int { self.limit + 1 }

    package init(cursor: Cursor? = nil, limit: Int) {
        self.cursor = cursor
        self.limit = limit
    }

    /// - Parameters:
    ///   - cursor: that of the page before; nil for the newest entries.
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

    /// The cursor of the next page; nil if there is none.
    /// - Parameter entries: up to `lookup` of them.
    package func next<Entry>(after entries: [Entry], _ number: (Entry) -> Int64) -> Cursor? {
        guard entries.count > self.limit, let last = entries.prefix(self.limit).last else { return nil }
        return Cursor(after: number(last))
    }
}
