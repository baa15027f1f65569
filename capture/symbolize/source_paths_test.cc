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
  EXPECT_EQ(HideHomes("/srv/root/x.py /home/ /roots/x"), "/srv/root/x.py /home/ /roots/x");
}

TEST(PortablePathTest, OnlyADriveGoesWithTheHome) {
  EXPECT_EQ(HideHomes("C:\\Users\\ann\\x.py"), "~\\x.py");
  EXPECT_EQ(HideHomes("C:/Users/ann/x.py"), "~/x.py");
  EXPECT_EQ(HideHomes("load \"D:\\Users\\ann\\x\""), "load \"~\\x\"");
  EXPECT_EQ(HideHomes("load:C:\\Users\\ann\\x"), "load:~\\x");
  EXPECT_EQ(HideHomes("load:/home/ann/x"), "load:~/x");
  EXPECT_EQ(HideHomes("load:/Users/ann/x"), "load:~/x");
  EXPECT_EQ(HideHomes("x:/home/ann/x"), "x:~/x");
  EXPECT_EQ(HideHomes("file:\\Users\\ann\\x"), "file:~\\x");
  EXPECT_EQ(HideHomes("/usr/bin:/home/ann/bin:/Users/ann/bin"), "/usr/bin:~/bin:~/bin");
  EXPECT_EQ(HideHomes("/opt/x:/Users/ann/bin"), "/opt/x:~/bin");
  EXPECT_EQ(HideHomes(":/Users/ann/bin"), ":~/bin");
  EXPECT_EQ(HideHomes("3:/Users/ann/bin"), "3:~/bin");
  EXPECT_EQ(HideHomes("load:/root/x"), "load:~/x");
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

TEST(IsUserSourceTest, LeavesOutHeadersOfLibraries) {
  for (const char* path : {"/srv/project/include/model.h", "/home/ada/torch_models/include/step.h", "src/cuda/copy.h",
                           "external/eigen/Eigen/Core", "/srv/usr/includes/x.h"}) {
    EXPECT_TRUE(IsUserSource(path)) << path;
  }
  for (const char* path :
       {"external/torch/include/ATen/core/TensorBody.h", "/proc/self/cwd/external/torch/include/x.h",
        "torch/include/c10/core/Device.h", "/opt/libtorch/include/torch/csrc/api/include/torch/nn.h",
        "/usr/include/c++/12/bits/stl_vector.h", "/opt/gcc/include/c++/14/functional", "/usr/include/stdlib.h",
        "/usr/lib/gcc/x86_64-linux-gnu/12/include/emmintrin.h", "/usr/local/cuda-12.4/include/thrust/sort.h",
        "/opt/conda/targets/x86_64-linux/include/driver_types.h", "external/cuda/include/cuda.h",
        "/opt/venv/lib/python3.11/site-packages/torch/include/ATen/Tensor.h", "third_party/cuda_runtime_api.h"}) {
    EXPECT_FALSE(IsUserSource(path)) << path;
  }
}

TEST(IsUserModuleTest, TellsTheUsersBinariesFromLibraries) {
  for (const char* path : {"/home/ada/build/trainer", "/opt/company/libcustom.so", "/home/ada/libnvme_reader.so",
                           "/library/app", "/home/ada/python_runner", "C:\\Users\\ada\\train.exe"}) {
    EXPECT_TRUE(IsUserModule(path)) << path;
  }
  for (const char* path :
       {"", "[vdso]", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/usr/bin/python3.12",
        "/opt/conda/bin/python", "/opt/libtorch/lib/libtorch_cuda.so", "/opt/x/libcudart.so.12",
        "/usr/local/cuda-12.4/lib64/libcublas.so", "/home/ada/libstallhound_record.so",
        "/opt/venv/lib/python3.11/site-packages/jaxlib/x.so", "C:\\Windows\\System32\\nvcuda.dll",
        "C:\\WINDOWS\\SYSTEM32\\ntdll.dll", "C:\\venv\\Lib\\site-packages\\torch\\lib\\torch_cpu.dll"}) {
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

TEST(IsLibraryNameTest, LooksAtTheFunctionsOwnNamespace) {
  for (const char* name :
       {"at::Tensor::item() const",
        "std::_Function_handler<void (), train::Step()::{lambda()#1}>::_M_invoke(std::_Any&)",
        "void std::__invoke_impl<void, train::F&>(std::__invoke_other, train::F&)",
        "std::remove_reference<int&>::type&& std::move<int&>(int&)", "std::function<void ()>::operator bool() const",
        "c10::Scalar::operator=(c10::Scalar&&)", "decltype (auto) c10::visit<int>(int)"}) {
    EXPECT_TRUE(IsLibraryName(name)) << name;
  }
  for (const char* name :
       {"main", "", "train::Step(at::Tensor const&)", "at::Tensor train::Step(int)",
        "std::vector<int> train::F<int>(int)",
        "train::Step(int)::{lambda(std::vector<int>)#1}::operator()(std::vector<int>) const",
        "(anonymous namespace)::Step(std::function<void ()>)", "operator<<(std::ostream&, train::X const&)",
        "train::operator<(at::Tensor, at::Tensor)", "bool train::operator< <int>(int, std::pair<int, int>)",
        "attention::Step()", "my::std::f()", "operator()"}) {
    EXPECT_FALSE(IsLibraryName(name)) << name;
  }
}

}  // namespace
}  // namespace stallhound::capture
