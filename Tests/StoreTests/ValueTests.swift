import Contract
import LocalStack
import Store
import Testing

@Suite struct ValueTests {
    private enum Colour: Int16, PostgresRepresentable, Equatable { case red = 1, blue }

    @Test func everyTypeReturnsAsItWent() async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            func same<T: PostgresValue & Equatable>(_ values: T...) async throws {
                for value in values {
                    let row = try await connection.query("SELECT \(value), \(Optional(value)), \(T?.none)")[0]
                    #expect(try row.decode(0, as: T.self) == value)
                    #expect(try row.decode(1, as: T?.self) == value)
                    #expect(try row.decode(2, as: T?.self) == nil)
                }
                let many: [T?] = values + [nil] + values
                let none: [T] = []
                var row = try await connection.query("SELECT \(values), \(many), \(none), \([T]?.none)")[0]
                #expect(try row.next([T].self) == values)
                #expect(try row.next([T?].self) == many)
                #expect(try row.next([T].self) == none)
                #expect(try row.next([T]?.self) == nil)
            }
            try await same(Int16.min, -1, 0, Int16.max)
            try await same(Int32.min, -1, 0, Int32.max)
            try await same(Int64.min, -1, 0, Int64.max)
            try await same(true, false)
            try await same(0.0, -1.5, .infinity, .leastNonzeroMagnitude)
            try await same("", "plain", "grün 🐘 'quoted' \\ \"")
            try await same([UInt8](), [0], [UInt8](0...255))
            try await same(PostgresUUID(high: 0, low: 0), PostgresUUID(high: 0x0123_4567_89ab_cdef, low: .max))
            try await same(
                PostgresTimestamp(milliseconds: 0), PostgresTimestamp(milliseconds: -1),
                PostgresTimestamp(milliseconds: 1_763_000_000_123))
            try await same(Colour.red, .blue)
            try await same(WhisperID("WSP-JBPU-D452-TLT4")!, WhisperID(bits: 0)!)
            try await same(Timestamp(milliseconds: 1))
            try await same(Bytes32(), Bytes32(1...32)!)
            try await same(Bytes64(1...64)!)
        }
    }

    @Test func theServerSeesTheSameValues() async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            let text = try await connection.query(
                """
                SELECT concat_ws('|', \(Int64(-5)), \(true), \([UInt8]([0xab, 0])), \(PostgresUUID(high: 1, low: 2)),
                    extract(epoch FROM \(PostgresTimestamp(milliseconds: 1_234))), \([Int64?]([1, nil])), \(["a", "b,c"]))
                """)
            #expect(
                try text[0].decode(0, as: String.self)
                    == #"-5|t|\xab00|00000000-0000-0001-0000-000000000002|1.234000|{1,NULL}|{a,"b,c"}"#)
        }
    }

    @Test(arguments: [Int64.min, -300_000_000_000_000, 300_000_000_000_000, Int64.max])
    func aTimeThatPostgresCannotHoldBecomesTheNearest(milliseconds: Int64) async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            let rows = try await connection.query("SELECT isfinite(\(PostgresTimestamp(milliseconds: milliseconds)))")
            #expect(try rows[0].decode(0, as: Bool.self))
        }
    }

    @Test func aWrongTypeOrColumnIsToldNotGuessed() async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            let rows = try await connection.query(
                "SELECT 1::int4, NULL::int8, now(), 7::int2, 'x'::varchar, '{{1},{2}}'::int8[]")
            #expect(throws: StoreError.undecodable(column: 0)) { try rows[0].decode(0, as: Int64.self) }
            #expect(throws: StoreError.undecodable(column: 1)) { try rows[0].decode(1, as: Int64.self) }
            #expect(throws: StoreError.undecodable(column: 2)) { try rows[0].decode(2, as: Int64.self) }
            #expect(throws: StoreError.undecodable(column: 3)) { try rows[0].decode(3, as: Colour.self) }
            #expect(try rows[0].decode(4, as: String.self) == "x")
            #expect(throws: StoreError.undecodable(column: 5)) { try rows[0].decode(5, as: [Int64].self) }
            #expect(throws: StoreError.undecodable(column: 6)) { try rows[0].decode(6, as: Int64.self) }
        }
    }

    @Test func aBatchOfThousandsIsOneStatement() async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            try await connection.script("CREATE TABLE mail (id int8 PRIMARY KEY, owner int8, body bytea, note text)")
            let ids = (0..<20_000).map(Int64.init)
            let bodies = ids.map { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: 300) }
            let notes = ids.map { $0 % 2 == 0 ? "note \($0)" : nil }
            let added = try await connection.execute(
                "INSERT INTO mail SELECT * FROM unnest(\(ids), \(ids.map { $0 % 7 }), \(bodies), \(notes))")
            #expect(added == ids.count)
            var expected: Int64 = 0
            for var row in try await connection.query("SELECT id, owner, body, note FROM mail ORDER BY id") {
                #expect(try row.next(Int64.self) == expected)
                #expect(try row.next(Int64.self) == expected % 7)
                #expect(try row.next([UInt8].self) == bodies[Int(expected)])
                #expect(try row.next(String?.self) == notes[Int(expected)])
                expected += 1
            }
            #expect(expected == 20_000)
        }
    }
}
