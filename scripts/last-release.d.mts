/** Types of last-release.mjs. */

export declare const LAST_RELEASE: { readonly version: string; readonly commit: string }

export declare function lastRelease(say: (text: string) => void): string

export declare function requireCommit(folder?: string): void
