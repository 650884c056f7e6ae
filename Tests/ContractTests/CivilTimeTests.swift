import Contract
import Glibc
import TestKit
import Testing

@Suite struct CivilTimeTests {
    @Test(
        arguments: [
            (0, "1970-01-01", "00:00:00"), (951_782_400, "2000-02-29", "00:00:00"),
            (1_709_251_199, "2024-02-29", "23:59:59"), (4_107_542_400, "2100-03-01", "00:00:00"),
            (-1, "1969-12-31", "23:59:59"),
        ] as [(Int64, String, String)])
    func datesAreRight(seconds: Int64, date: String, clock: String) {
        let time = CivilTime(Timestamp(milliseconds: seconds * 1_000))
        #expect(time.date == date)
        #expect(time.clock == clock)
        #expect(time.seconds == seconds)
    }

    @Test(arguments: UInt64(0)..<20) func itIsWhatTheSystemSays(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<1_000 {
            let seconds = Int64.random(in: -62_000_000_000...250_000_000_000, using: &random)
            var (parts, instant) = (tm(), time_t(seconds))
            gmtime_r(&instant, &parts)
            let time = CivilTime(Timestamp(milliseconds: seconds * 1_000 + .random(in: 0..<1_000, using: &random)))
            #expect(
                [time.year, time.month, time.day]
                    == [1_900 + parts.tm_year, parts.tm_mon + 1, parts.tm_mday].map(Int.init))
            #expect(
                [time.hour, time.minute, time.second] == [parts.tm_hour, parts.tm_min, parts.tm_sec].map(Int.init))
            #expect(time.seconds == seconds)
        }
    }
}
