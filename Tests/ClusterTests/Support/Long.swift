import TestKit
import Testing

extension Trait where Self == ConditionTrait {
    /// Another test of its kind is shorter, and stays in the short run.
    static var long: Self { .enabled(if: Prove.isAsked, "make prove runs it") }
}
