import AuthCore
import OperatorsCore
import Testing

@Suite struct MigrationTests {
    /// Databases of older releases have these versions in their book. A step may be added, and none moved.
    @Test func theStepsOfBothCoresAreOneSequence() {
        let steps = (Auth.migrations + Operators.migrations).sorted { $0.version < $1.version }
        #expect(
            steps.map { "\($0.version) \($0.name)" } == [
                "1 auth", "2 abuse", "3 access", "4 calls", "5 console", "6 mail keys", "7 bounds",
                "8 guests", "9 profiles", "10 strangers", "11 evidence",
                "12 invitations", "13 erasures", "14 clients", "15 shared tokens",
                "16 held about", "17 audit end", "18 wake secrets", "19 rate classes", "20 doors", "21 guest erasures",
                "22 guests own",
            ])
    }
}
