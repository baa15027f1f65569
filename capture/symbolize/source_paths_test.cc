#include "capture/symbolize/source_paths.h"

#include <gtest/gtest.h>

namespace stallhound::capture {
namespace {

TEST(PortablePathTest, NamesNeitherMachineNorPerson) {
  const PathRoots roots{"/home/ada/project", "/home/ada"};
  EXPECT_EQ(PortablePath("/home/ada/project/train.py", roots), "train.py");
  EXPECT_EQ(PortablePath("/home/ada/project/models/a.py", roots), "models/a.py");
  EXPECT_EQ(PortablePath("/home/ada/other/b.py", roots), "~/other/b.py");
  EXPECT_EQ(PortablePath("/home/ada/project/env/lib/python3.12/site-packages/torch/nn/x.py", roots),
            "site-packages/torch/nn/x.py");
  EXPECT_EQ(PortablePath("/usr/lib/python3/dist-packages/yaml/y.py", roots), "dist-packages/yaml/y.py");
  EXPECT_EQ(PortablePath("/opt/conda/lib/python3.11/ast.py", roots), "python3.11/ast.py");
  EXPECT_EQ(PortablePath("<frozen importlib._bootstrap>", roots), "<frozen importlib._bootstrap>");
}

TEST(PortablePathTest, HidesHomesInAnyText) {
  EXPECT_EQ(HideHomes("/home/ann/x.py and /root/y.py"), "~/x.py and ~/y.py");
  EXPECT_EQ(HideHomes("C:\\Users\\ann\\x.py"), "~\\x.py");
  EXPECT_EQ(HideHomes("/srv/root/x.py /home/ /roots/x"), "/srv/root/x.py /home/ /roots/x");
}

TEST(PortablePathTest, ARootIsAWholeFolder) {
  const PathRoots roots{"/home/ada/project", "/home/ada"};
  EXPECT_EQ(PortablePath("/home/ada/project2/train.py", roots), "~/project2/train.py");
  EXPECT_EQ(PortablePath("/home/adam/train.py", roots), "~/train.py") << "another user's";
  EXPECT_EQ(PortablePath("/srv/train.py", {"/", ""}), "/srv/train.py");
  EXPECT_EQ(PortablePath("/srvs/train.py", {"/srv", ""}), "/srvs/train.py");
  EXPECT_EQ(PortablePath("", roots), "");
}

TEST(IsUserSourceTest, TellsTheUsersCodeFromLibraries) {
  EXPECT_TRUE(IsUserSource("/home/ada/project/train.py"));
  EXPECT_TRUE(IsUserSource("train.py"));
  EXPECT_TRUE(IsUserSource("<ipython-input-1-2>"));
  EXPECT_TRUE(IsUserSource("/home/ada/pythonic/lib/pythons/a.py"));
  for (const char* path : {"", "<frozen runpy>", "/usr/lib/python3.12/threading.py",
                           "/opt/venv/lib/python3.9/site-packages/torch/_tensor.py",
                           "/usr/lib/python3/dist-packages/numpy/core.py", "<__array_function__ internals>"}) {
    EXPECT_FALSE(IsUserSource(path)) << path;
  }
}

TEST(IsUserModuleTest, TellsTheUsersBinariesFromLibraries) {
  for (const char* path : {"/home/ada/build/trainer", "/opt/company/libcustom.so", "/home/ada/libnvme_reader.so",
                           "/library/app", "/home/ada/python_runner"}) {
    EXPECT_TRUE(IsUserModule(path)) << path;
  }
  for (const char* path :
       {"", "[vdso]", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/usr/bin/python3.12",
        "/opt/conda/bin/python", "/opt/libtorch/lib/libtorch_cuda.so", "/opt/x/libcudart.so.12",
        "/usr/local/cuda-12.4/lib64/libcublas.so", "/home/ada/libstallhound_record.so",
        "/opt/venv/lib/python3.11/site-packages/jaxlib/x.so", "/usr/include/c++/12/bits/stl_vector.h"}) {
    EXPECT_FALSE(IsUserModule(path)) << path;
  }
}

TEST(IsUserFunctionTest, LeavesOutAStaticCudaRuntime) {
  EXPECT_TRUE(IsUserFunction("main"));
  EXPECT_TRUE(IsUserFunction("cuda_helper()"));
  EXPECT_TRUE(IsUserFunction("cut(int)"));
  EXPECT_FALSE(IsUserFunction("cudaMemcpy"));
  EXPECT_FALSE(IsUserFunction("cuLaunchKernel"));
  EXPECT_FALSE(IsUserFunction("__cudaLaunchKernel"));
  EXPECT_FALSE(IsUserFunction("libcudart_static_3a1"));
}

}  // namespace
}  // namespace stallhound::capture
