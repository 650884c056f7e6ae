import Contract
import Testing

@testable import RouterCore

@Suite struct WakeMemoryTests {
    private var memory = WakeMemory()

    @Test mutating func aHundredMessagesMakeOneWakeUp() {
        let pause = RouterLimits.wakePause.milliseconds
        let wakes = [0, 1, pause - 1, pause].map { self.memory.shouldWake(identity(1), isForMail: true, at: $0) }
        #expect(wakes == [true, false, false, true])
        let isAnotherWoken = self.memory.shouldWake(identity(2), isForMail: true, at: 0)
        #expect(isAnotherWoken)
    }

    /// Somebody goes, and mail may have been left; push finds none and wakes nobody. Then mail comes.
    @Test mutating func aWakeUpThatMayHaveFoundNothingIsNotRemembered() {
        let isWoken = self.memory.shouldWake(identity(1), isForMail: false, at: 0)
        let isWokenByMail = self.memory.shouldWake(identity(1), isForMail: true, at: 1)
        #expect(isWoken && isWokenByMail)
    }

    /// Woken, read everything, gone again, all within the pause: what comes now finds nobody else to tell.
    @Test mutating func whoeverCameIsWokenAnew() {
        _ = self.memory.shouldWake(identity(1), isForMail: true, at: 0)
        self.memory.came(identity(1))
        let isWokenAgain = self.memory.shouldWake(identity(1), isForMail: true, at: 1)
        #expect(isWokenAgain)
    }
}

@Suite struct SteadyClockTests {
    @Test func itGoesAsTheOtherClockGoes() {
        let start = ContinuousClock.now
        let clock = SteadyClock(wall: Timestamp(milliseconds: 1_000_000), start: start)
        #expect(clock.time(at: start).milliseconds == 1_000_000)
        #expect(clock.time(at: start + .milliseconds(1_500)).milliseconds == 1_001_500)
    }
}
