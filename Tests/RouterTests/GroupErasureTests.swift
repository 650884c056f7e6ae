import Contract
import Testing

/// Kept events of groups forget an erased identity (contract §20.3).
@Suite struct GroupErasureTests {
    /// Anybody can write a title around an id. Escaped quotes in it end nothing.
    @Test func aTitleThatIsAnIDKeepsNoErasureOpen() async throws {
        try await GroupBench.run { bench in
            let erased = person(3)
            let titles = [#"\#(erased)"#, #"\"\#(erased)"#, #"\"\#(erased)\""#, #"\\\"title\":\"\#(erased)\",\""#]
            for title in titles { _ = try await bench.create(title, [person(2)], by: person(1)) }
            // As it is signed.
            _ = try await bench.sql(
                """
                INSERT INTO router.group_events (group_id, revision, node, question, created_at, payload)
                VALUES (gen_random_uuid(), 1, 1, 1, now(),
                    convert_to($${"change":{"title":"\\"\(erased)\\""}}$$, 'UTF8'))
                """)
            #expect(try await bench.service.forgetInEvents(erased) == 0)
            // One that names the person is found among them.
            let named = try await bench.create(#"\"\#(erased)"#, [person(2), erased], by: person(1))
            #expect(try await bench.service.forgetInEvents(erased) == 1)
            #expect(try await bench.service.forgetInEvents(erased) == 0)
            #expect(try await bench.sql("SELECT count(*) FROM router.group_events") == "6")
            let kept = try await bench.sql(
                """
                SELECT jsonb_path_query_array(convert_from(payload, 'UTF8')::jsonb, '$.group.members[*].whisperId')
                FROM router.group_events WHERE group_id = '\(named.id)'
                """)
            #expect(kept == #"["\#(person(1))", "\#(person(2))"]"#)
        }
    }
}
