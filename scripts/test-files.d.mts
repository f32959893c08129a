/** Types of test-files.mjs. */

export declare function filesLeftOut(folder: string, named?: readonly string[]): string[]

export declare function namedIn(args: readonly string[]): string[]

export declare function wholeForChange(): string[]

export declare const onOldest: readonly string[]
