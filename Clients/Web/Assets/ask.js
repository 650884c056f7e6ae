// Questions to the server by HTTP, asked again until one is answered.

const firstPause = 300;
const longestPause = 15_000;

/** @param {number} milliseconds */
export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * @param {string} path
 * @param {object} members of the body
 * @param {() => void} isDelayed nobody was reached, or there are too many questions now
 * @returns {Promise<object | null>} null if the server has nothing for this question
 */
export async function ask(path, members, isDelayed) {
  const body = JSON.stringify({ protocolVersion: 1, cryptoVersion: 1, ...members });
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body, referrerPolicy: "no-referrer" };
  for (let attempt = 0; ; attempt += 1) {
    let wait = Math.min(firstPause * 2 ** attempt, longestPause);
    try {
      const answer = await fetch(path, request);
      if (answer.ok) return await answer.json();
      if (answer.status < 500 && answer.status !== 429) return null;
      wait = Math.max(wait, 1000 * Number(answer.headers.get("Retry-After") ?? 0));
    } catch {
      // Nobody was reached.
    }
    isDelayed();
    await pause(wait * (0.5 + Math.random() / 2));
  }
}
